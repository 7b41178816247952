// The audit log: one line of JSON for each diagnostic connection, dump, profile, and refused handshake or
// session (docs/security.md has the fields).
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "base/unblocked_writer.hpp"
#include "base/unique_fd.hpp"
#include "router/agent/gate/audit_entry.hpp"
#include "transport/loop.hpp"
#include "transport/timer.hpp"

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
