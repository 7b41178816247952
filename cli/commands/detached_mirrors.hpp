// The mirrors of this user that run without a terminal (`farport connect --detach`): a file for each, in a
// directory that is this user's alone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace farport::cli {

// A process that goes on without the terminal that it was started from.

/// Has the standard streams lead nowhere, so that nobody who reads them waits for this process.
void close_streams();

/// What a detached process has to say to who started it: once, how its start went. They wait for it.
class StartReport {
 public:
  explicit StartReport(UniqueFd to) : to_(std::move(to)) {}

  /// Prints `text` there, as standard output, and has the command end with success. False: they have gone
  /// away meanwhile.
  bool succeeded(const std::string& text) { return send(0, text); }
  /// Prints the error there, and has the command end with `exit_code`, which is returned. After succeeded()
  /// it is for the log alone.
  int failed(const Error& error, int exit_code);

 private:
  bool send(int exit_code, const std::string& text);

  UniqueFd to_;
};

/// Which of the two processes this is: one of the two members is there.
struct Detached {
  std::optional<int> exit_code{};       ///< The one that was started: it ends with this.
  std::optional<StartReport> report{};  ///< The one that goes on.
};

/// Makes a process that goes on: in a session of its own, with no file of ours but the report, and standard
/// streams that lead nowhere. The other one waits until it has reported, prints that, and ends. Errors: no
/// process can be made.
[[nodiscard]] Result<Detached> detach();

/// What a detached mirror says of itself.
struct DetachedMirror {
  std::vector<std::string> agents;  ///< As they were named: HOST:PORT or a profile.
  std::string socket_dir;
  std::string log;    ///< The path of its log.
  std::string since;  ///< UTC, RFC 3339.
};

/// One as it is found. It runs as long as it holds the lock on its file; the kernel says who that is.
struct FoundMirror {
  std::string file;
  DetachedMirror mirror;
  pid_t pid = 0;  ///< 0: it has ended without taking its file away.
};

/// All that have a file, those that run and those that a crash left, in the order in which they were started.
[[nodiscard]] Result<std::vector<FoundMirror>> find_detached_mirrors();

/// Ends one that runs, and passes when it has taken everything with it; of one that a crash left the files
/// are removed. Errors: it can't be reached, or has not ended in time.
[[nodiscard]] Result<void> end_detached_mirror(const FoundMirror& found);

/// This process's entry, which others find until it is destroyed.
class DetachedEntry {
 public:
  /// Takes a name in the directory, and opens a log there where `mirror.log` is empty. It is not found by
  /// others before publish().
  static Result<std::unique_ptr<DetachedEntry>> make(DetachedMirror mirror);

  DetachedEntry(DetachedMirror mirror, std::string file, UniqueFd lock, UniqueFd log, bool own_log);
  DetachedEntry(const DetachedEntry&) = delete;
  DetachedEntry& operator=(const DetachedEntry&) = delete;
  /// Removes the file, and the log where it is the entry's own.
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
