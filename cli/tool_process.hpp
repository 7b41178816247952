// A tool as a child process that has the terminal and its signals to itself.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "transport/event.hpp"

namespace farport::cli {

/// A program that a signal has ended has this and the signal's number as its exit code, as shells say it.
inline constexpr int kKilledBySignal = 128;

class ToolProcess {
 public:
  /// Starts `arguments[0]`, looked for in PATH and then in ~/.dotnet/tools, with our own standard streams and
  /// environment, but for TMPDIR, which becomes `tmpdir`. Errors: it can't be found or started (`cause` is
  /// the errno value).
  static Result<std::unique_ptr<ToolProcess>> start(transport::Loop& loop, std::vector<std::string> arguments,
                                                    const std::string& tmpdir);

  explicit ToolProcess(transport::Loop& loop) : ended_(loop) {}
  ToolProcess(const ToolProcess&) = delete;
  ToolProcess& operator=(const ToolProcess&) = delete;

  /// Passes when the tool has ended: its exit code, or kKilledBySignal + N when signal N ended it.
  transport::Task<int> wait();
  void signal(int number);

 private:
  transport::OwnedHandle<uv_process_t> process_;
  transport::Event ended_;
  std::optional<int> exit_code_;
};

}  // namespace farport::cli
