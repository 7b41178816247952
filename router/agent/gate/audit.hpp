// The audit log: one line of JSON for each diagnostic connection, dump, profile, and refused handshake or
// session (docs/security.md has the fields).
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

/// How an event has ended.
struct Outcome {
  enum class Kind : std::uint8_t { completed, refused, failed, broken_off, stopped };
  Kind kind = Kind::completed;
  std::string why{};  ///< Empty where it was completed or the agent was stopped.
};

/// As the audit and the log say it: "completed", or why not.
[[nodiscard]] std::string to_string(const Outcome& outcome);

/// What is said of one event. What doesn't apply stays empty.
struct AuditEntry {
  std::string_view event;  ///< "command", "dump", "profile", "handshake", "session".
  const Caller& caller;
  RuntimePtr runtime{};
  std::string command{};    ///< The protocol's name.
  std::string arguments{};  ///< A JSON object: what describes the command, without any secret.
  bool allowed = false;
  std::string rule{};  ///< The grant that allowed it.
  std::string role{};  ///< That grant's role.
  Outcome outcome{};
  std::uint64_t to_runtime = 0;  ///< Bytes.
  std::uint64_t to_tool = 0;     ///< Bytes.
  std::chrono::milliseconds took{0};
};

/// The line, with its end: 8 KiB at most, as journals and container engines split longer ones. Texts that are
/// too long for it end in "…", and arguments are replaced by their beginning.
[[nodiscard]] std::string line_of(const AuditEntry& entry);

}  // namespace farport::router

template <>
struct fmt::formatter<farport::router::Outcome> : farport::TextFormatter {
  auto format(const farport::router::Outcome& outcome, fmt::format_context& context) const {
    return write(farport::router::to_string(outcome), context);
  }
};

namespace farport::router {

class Audit final : private transport::EndOfTick {
 public:
  /// `to`: "stderr", "syslog", "off", or the path of a file to append to, which is made with mode 0600.
  /// Errors: the file can't be used.
  /// `full`: whether a reader that takes no more, of standard error or of a pipe, is waited for, or loses
  /// lines.
  static Result<std::unique_ptr<Audit>> open(transport::Loop& loop, Log log, std::string to,
                                             UnblockedWriter::When full = UnblockedWriter::When::drop);

  Audit(transport::Loop& loop, Log log, std::string to, UnblockedWriter::When full);
  Audit(const Audit&) = delete;
  Audit& operator=(const Audit&) = delete;
  ~Audit();

  /// Writes a line, at the latest at the end of the loop's turn. What can't be written is lost, and that is
  /// logged: a full disk must not keep anybody from the diagnostics that would explain it. Of what is refused
  /// to one identity, a hundred lines are written a minute; how many more there were stands in one of their
  /// own.
  void write(const AuditEntry& entry);
  /// How many lines have been lost: nothing read them, or the disk was full.
  [[nodiscard]] std::uint64_t lost() const { return writer_.lost() + syslog_.lost(); }
  /// Opens the file again under its name, after it has been renamed. Errors: the old one stays in use.
  Result<void> reopen();

 private:
  /// What has been refused to an identity in a minute.
  struct Refused {
    std::size_t lines = 0;
    std::size_t left_out = 0;
    Caller last{};
  };

  void end_of_tick() override;
  void flush();
  void put(const AuditEntry& entry);
  [[nodiscard]] bool has_line(const Caller& caller);
  void end_minute();
  void note(bool fails, int error);

  transport::Loop& loop_;
  Log log_;
  std::string to_;
  UniqueFd file_;
  UnblockedWriter writer_;
  SyslogWriter syslog_{"farport"};
  std::string pending_;  ///< Lines that wait for the end of the turn.
  bool failing_ = false;
  std::map<std::string, Refused> refused_;  ///< By identity_key(), in this minute.
  std::optional<transport::Deadline> minute_;
};

/// Writes an entry when it goes: also where the agent stops in the middle of the event.
class AuditOnExit {
 public:
  using Clock = std::chrono::steady_clock;

  /// `since`: when the event began. The entry must outlive this, and gets its outcome
  /// meanwhile.
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
