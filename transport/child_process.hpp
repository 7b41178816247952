// A child process.
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
#include "transport/event.hpp"
#include "transport/loop.hpp"

namespace farport::transport {

/// A program that a signal has ended has this and the signal's number as its exit code, as shells say it.
inline constexpr int kKilledBySignal = 128;

/// Sends `signal` to a running process whose owner needs it no more, and SIGKILL where it is not gone a
/// moment later. Nobody waits for that: the loop reaps the process, and its destructor waits for those that
/// are left, for two such moments at most.
void let_end(Loop& loop, OwnedHandle<uv_process_t> process, int signal);

class ChildProcess {
 public:
  struct Start {
    std::vector<std::string> arguments;         ///< The first is the program, looked for in PATH.
    std::vector<std::string> environment = {};  ///< "NAME=VALUE"; empty: ours.
    std::array<int, 3> streams = {0, 1, 2};     ///< What its standard streams are; they stay ours, too.
  };
  /// Errors: it can't be found or started (`cause` is the errno value).
  static Result<std::unique_ptr<ChildProcess>> start(Loop& loop, Start start);

  explicit ChildProcess(Loop& loop) : loop_(loop), ended_(loop) {}
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  /// Ends the process if it still runs: let_end() with SIGTERM.
  ~ChildProcess();

  /// Passes when the process has ended: its exit code, or kKilledBySignal + N when signal N ended it.
  Task<int> wait();
  /// Nothing while it runs.
  [[nodiscard]] const std::optional<int>& exit_code() const { return exit_code_; }
  void signal(int number);

 private:
  Loop& loop_;
  OwnedHandle<uv_process_t> process_;
  Event ended_;
  std::optional<int> exit_code_;
};

// Noticing that a process has ended.

/// A pidfd of the process; none where it has ended, or isn't visible here. Open it before an answer of the
/// process comes: a process that answers lived then, so the descriptor is of that process and not of a later
/// one with the same pid.
[[nodiscard]] UniqueFd open_pidfd(pid_t pid);

/// When the process began, in clock ticks after boot; 0 where it isn't visible here.
[[nodiscard]] std::uint64_t start_of(pid_t pid);

/// Whether the process behind the pidfd has ended already.
[[nodiscard]] bool has_ended(const UniqueFd& pidfd);

/// Passes when the process behind the pidfd has ended.
Task<void> process_exit(Loop& loop, UniqueFd pidfd);

// Unix signals on the loop.

/// Whether this process ignores a signal: it was started so, as nohup and shells without job control do.
[[nodiscard]] bool is_ignored(int signal);

/// Calls `on_signal` with the signal's number, from the loop, for as long as it lives.
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
