// The audit log: one line of JSON for each diagnostic connection, dump, profile, recent recording, and
// refused handshake or session (docs/security.md lists the fields).
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.hpp"
#include "base/unblocked_writer.hpp"
#include "base/unique_fd.hpp"
#include "router/agent/gate/gate.hpp"
#include "router/wire/runtime.hpp"
#include "transport/loop.hpp"
#include "transport/timer.hpp"

namespace farport::router {

/// How an audited event ended.
struct Outcome {
  enum class Kind : std::uint8_t { completed, refused, failed, broken_off, stopped };
  Kind kind = Kind::completed;
  std::string why{};  ///< Empty for completed and stopped.
};

/// The text for the audit and the log: "completed", or why not.
[[nodiscard]] std::string to_string(const Outcome& outcome);

/// One event of the audit. Fields that don't apply stay empty.
struct AuditEntry {
  std::string_view event;  ///< "command", "dump", "profile", "recent", "artifact", "handshake", "session",
                           ///< "limit", "refusals", "reads".
  const Caller& caller;
  RuntimePtr runtime{};
  std::string command{};    ///< The protocol's name of it.
  std::string arguments{};  ///< A JSON object: see audit_arguments().
  bool allowed = false;
  std::string rule{};  ///< The grant that allowed it.
  std::string role{};  ///< The role that the grant gives.
  Outcome outcome{};
  std::uint64_t to_runtime = 0;  ///< Bytes.
  std::uint64_t to_tool = 0;     ///< Bytes.
  std::chrono::milliseconds took{0};
};

/// Notes a decision about a request of the API in the entry. Returns the refusal; empty if it is allowed.
[[nodiscard]] std::optional<Refusal> note_decision(AuditEntry& entry, Decision decision);
/// Decides about a request of the API, and notes the decision in the entry. `runtime` is the one that the
/// request is about, or why there is none. Returns the refusal; empty if the request is allowed.
[[nodiscard]] std::optional<Refusal> decide(AuditEntry& entry,
                                            const tl::expected<RuntimePtr, Refusal>& runtime,
                                            Decision (*authorize)(const Caller&, const Runtime&));

/// The line with its newline, 8 KiB at most, since journals and container engines split longer ones. Texts
/// that are too long are cut and end in "…"; arguments that are too long become {"cut": …}.
[[nodiscard]] std::string line_of(const AuditEntry& entry);

}  // namespace farport::router

template <>
struct fmt::formatter<farport::router::Outcome> : farport::TextFormatter {
  auto format(const farport::router::Outcome& outcome, fmt::format_context& context) const {
    return write(farport::router::to_string(outcome), context);
  }
};

namespace farport::router {

class Audit final : private transport::TurnEndHook {
 public:
  /// `to` is "stderr", "syslog", "off", or the path of a file to append to, which is made with mode 0600.
  /// `full` says what happens when the reader of standard error or of a pipe takes no more: wait, or lose
  /// lines. Errors: the file can't be opened.
  static Result<std::unique_ptr<Audit>> open(transport::Loop& loop, Log log, std::string to,
                                             UnblockedWriter::When full = UnblockedWriter::When::drop);

  Audit(transport::Loop& loop, Log log, std::string to, UnblockedWriter::When full);
  Audit(const Audit&) = delete;
  Audit& operator=(const Audit&) = delete;
  ~Audit();

  /// Writes a line, at the latest at the end of the loop's turn. A line that can't be written is lost, which
  /// is logged: a full disk must not stop the diagnostics that would explain it. For what is refused to one
  /// identity, a hundred lines are written a minute, and a thousand for what it reads of what is kept; one
  /// more line then says how many were left out.
  void write(const AuditEntry& entry);
  /// How many lines were lost because nothing read them or the disk was full.
  [[nodiscard]] std::uint64_t lost() const { return writer_.lost() + syslog_.lost(); }
  /// Opens the file again under its name, after a program has rotated it. Errors: the old file stays in use.
  Result<void> reopen();

 private:
  /// What may come from one identity any number of times: what is refused to it, or what it reads.
  struct Frequent {
    bool is_read = false;
    std::size_t lines = 0;
    std::size_t left_out = 0;
    Caller last{};
  };

  void end_of_tick() override;
  void flush();
  void put(const AuditEntry& entry);
  [[nodiscard]] bool within_rate(const AuditEntry& entry);
  void end_minute();
  void note(bool fails, int error);

  transport::Loop& loop_;
  Log log_;
  std::string to_;
  UniqueFd file_;
  UnblockedWriter writer_;
  SyslogWriter syslog_{"farport"};
  std::string pending_;  ///< Lines to write at the end of the turn.
  bool failing_ = false;
  std::map<std::string, Frequent> frequent_;  ///< By its kind and identity_key(), for the current minute.
  std::optional<transport::Deadline> minute_;
};

/// Writes an entry when it is destroyed, also when the agent stops in the middle of the event.
class AuditOnExit {
 public:
  using Clock = std::chrono::steady_clock;

  /// `since` is when the event began. The entry must outlive this object; its owner sets the outcome before
  /// the end, which is `stopped` until then.
  AuditOnExit(Audit& audit, AuditEntry& entry, Clock::time_point since)
      : audit_(audit), entry_(entry), since_(since) {
    entry_.outcome = {Outcome::Kind::stopped};
  }
  AuditOnExit(const AuditOnExit&) = delete;
  AuditOnExit& operator=(const AuditOnExit&) = delete;
  ~AuditOnExit() {
    entry_.took = std::chrono::round<std::chrono::milliseconds>(Clock::now() - since_);
    audit_.write(entry_);
  }

 private:
  Audit& audit_;
  AuditEntry& entry_;
  Clock::time_point since_;
};

}  // namespace farport::router
