// Detached mirrors: this user's mirrors that run in the background (`farport connect --detach`), each with a
// file in a private directory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace farport::cli {

/// Redirects the standard streams to /dev/null, so that nobody waits for this process to close them.
void close_streams();

/// The one report of a detached process to the command that started it, which waits for it.
class StartReport {
 public:
  explicit StartReport(UniqueFd to) : to_(std::move(to)) {}

  /// Makes the command print `text` to standard output and succeed. Returns false if the command has gone.
  bool succeeded(const std::string& text) { return send(0, text); }
  /// Makes the command print the error and end with `exit_code`, which is returned. After succeeded()
  /// nobody reads it any more.
  int failed(const Error& error, int exit_code);

 private:
  bool send(int exit_code, const std::string& text);

  UniqueFd to_;
};

/// Which of the two processes this is. Exactly one member is set.
struct Detached {
  std::optional<int> exit_code{};       ///< The original process: it ends with this.
  std::optional<StartReport> report{};  ///< The detached process.
};

/// Forks a process that continues in its own session, with standard streams to /dev/null and no open file but
/// the report. The original process waits for the report, prints it, and ends. Fails if no process can be
/// forked.
[[nodiscard]] Result<Detached> detach();

/// A detached mirror's description of itself.
struct DetachedMirror {
  std::vector<std::string> agents;  ///< As named by the user: HOST:PORT or a profile.
  std::string socket_dir;
  std::string log;    ///< The path of its log.
  std::string since;  ///< UTC, RFC 3339.
};

/// A detached mirror that was found. It runs as long as the kernel reports a lock on its file.
struct FoundMirror {
  std::string file;
  DetachedMirror mirror;
  pid_t pid = 0;  ///< 0: it ended without removing its file.
};

/// All detached mirrors with a file, running or left by a crash, in the order of their start.
[[nodiscard]] Result<std::vector<FoundMirror>> find_detached_mirrors();

/// Ends a running mirror and waits until it has cleaned up; removes the files of one that crashed. Fails if
/// the mirror can't be reached or does not end in time.
[[nodiscard]] Result<void> end_detached_mirror(const FoundMirror& found);

/// This process's entry among the detached mirrors, which others can find until it is destroyed.
class DetachedEntry {
 public:
  /// Reserves a name in the directory, and opens a log there if `mirror.log` is empty. Others can't find the
  /// entry before publish().
  static Result<std::unique_ptr<DetachedEntry>> make(DetachedMirror mirror);

  DetachedEntry(DetachedMirror mirror, std::string file, UniqueFd lock, UniqueFd log, bool own_log);
  DetachedEntry(const DetachedEntry&) = delete;
  DetachedEntry& operator=(const DetachedEntry&) = delete;
  /// Removes the file, and the log if it is the entry's own.
  ~DetachedEntry();

  Result<void> publish();
  [[nodiscard]] int log_fd() const { return log_.get(); }
  [[nodiscard]] bool has_own_log() const { return own_log_; }

 private:
  DetachedMirror mirror_;
  std::string file_;
  UniqueFd lock_;
  UniqueFd log_;
  bool own_log_;
};

}  // namespace farport::cli
