// Child processes, the end of any process, and Unix signals on the loop.
#pragma once

#include <array>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "transport/event.hpp"
#include "transport/loop.hpp"

namespace farport::transport {

/// Exit code of a program that was killed by a signal: this plus the signal's number, as shells report it.
inline constexpr int kKilledBySignal = 128;

/// The texts as execve(2) takes them, with a null pointer at the end. It takes pointers that aren't const,
/// but changes nothing. They are valid for as long as `texts` is unchanged.
[[nodiscard]] std::vector<char*> pointers_to(const std::vector<std::string>& texts);

/// A program, as execve(2) takes it.
struct Program {
  const char* file;                        ///< Looked for in PATH, unless it has a slash.
  char* const* arguments;                  ///< See pointers_to().
  char* const* environment = nullptr;      ///< Null: ours.
  std::array<int, 3> streams = {0, 1, 2};  ///< Its standard streams; -1: /dev/null. The caller keeps its own.
  bool apart = false;  ///< In a session of its own, without a terminal's signals, and in the root directory.
};

/// A process that this one has started. By posix_spawn(3), since fork(2) copies this process's page tables,
/// which takes milliseconds in a mirror of a thousand runtimes; uv_spawn() forks.
class Process {
 public:
  /// Called once, from the loop, with the exit code, or kKilledBySignal + N if signal N killed it. May
  /// destroy the Process.
  using OnEnd = std::function<void(int)>;

  /// Errors: it can't be found or started (`cause` is the errno value).
  static Result<std::unique_ptr<Process>> start(Loop& loop, const Program& program, OnEnd on_end);

  Process(Loop& loop, pid_t pid, OnEnd on_end);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() = default;

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] bool ended() const { return ended_; }
  /// Sends a signal, unless the process has ended.
  void signal(int number) const;
  /// Sends `signal` to a running process that its owner no longer needs, and SIGKILL if it still runs a
  /// moment later. Returns at once; the loop reaps the process. The loop's destructor waits for what is left,
  /// at most 2.1 s.
  static void terminate_detached(Loop& loop, std::unique_ptr<Process> process, int signal);

 private:
  void look();

  pid_t pid_;
  OnEnd on_end_;
  bool ended_ = false;
  UniqueFd pidfd_;
  OwnedHandle<uv_poll_t> poll_;    ///< Of the pidfd.
  OwnedHandle<uv_timer_t> timer_;  ///< Where there are no pidfds: before Linux 5.3, or under a filter.
};

class ChildProcess {
 public:
  struct Start {
    std::vector<std::string> arguments;         ///< The first is the program, which is looked for in PATH.
    std::vector<std::string> environment = {};  ///< "NAME=VALUE"; empty inherits ours.
    std::array<int, 3> streams = {0, 1, 2};  ///< Its standard streams. The caller keeps its own descriptors.
  };
  /// Errors: it can't be found or started (`cause` is the errno value).
  static Result<std::unique_ptr<ChildProcess>> start(Loop& loop, Start start);

  explicit ChildProcess(Loop& loop) : loop_(loop), ended_(loop) {}
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  /// Ends the process if it still runs: Process::terminate_detached() with SIGTERM.
  ~ChildProcess();

  /// Waits until the process has ended. Returns its exit code, or kKilledBySignal + N if signal N killed it.
  Task<int> wait();
  /// Empty while the process runs.
  [[nodiscard]] const std::optional<int>& exit_code() const { return exit_code_; }
  void signal(int number);

 private:
  Loop& loop_;
  std::unique_ptr<Process> process_;
  Event ended_;
  std::optional<int> exit_code_;
};

/// Opens a pidfd of the process; empty if it has ended or isn't visible here. Open it before the process
/// answers a request: the process was alive then, so the descriptor can't belong to a later process with the
/// same pid.
[[nodiscard]] UniqueFd open_pidfd(pid_t pid);

/// When the process started, in clock ticks after boot; 0 if it isn't visible here.
[[nodiscard]] std::uint64_t start_time_of(pid_t pid);

/// Whether the process behind the pidfd has ended already.
[[nodiscard]] bool has_ended(const UniqueFd& pidfd);

/// Waits until the process behind the pidfd has ended.
Task<void> process_exit(Loop& loop, UniqueFd pidfd);

/// Whether this process ignores the signal. nohup and shells without job control start programs so.
[[nodiscard]] bool is_ignored(int signal);

/// Calls `on_signal` from the loop with the signal's number, until it is destroyed.
class SignalWatch {
 public:
  SignalWatch(Loop& loop, std::initializer_list<int> signals, std::function<void(int)> on_signal);
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  std::function<void(int)> on_signal_;
  std::vector<OwnedHandle<uv_signal_t>> handles_;
};

}  // namespace farport::transport
