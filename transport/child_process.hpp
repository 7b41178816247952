// A child process.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "transport/event.hpp"

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

}  // namespace farport::transport
