// ProcessEnd: how a process that is not our child has ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

#include "base/unique_fd.hpp"

namespace farport::router {

/// How a process ended, as wait(2) encodes it.
struct ProcessEnd {
  int status = 0;

  [[nodiscard]] bool in_order() const { return status == 0; }
  /// Such as "exit code 134" or "killed by signal 9 (SIGKILL)".
  [[nodiscard]] bool by_kill() const;
  [[nodiscard]] std::string text() const;
};

/// Remembers a process, and tells how it has ended.
class WatchedProcess {
 public:
  /// `pid` and `start`: of the process (base/process_stat.hpp); the watch knows nothing if it isn't there.
  WatchedProcess(pid_t pid, std::uint64_t start);

  /// Whether the process has ended; false if nothing is known.
  [[nodiscard]] bool ended() const;
  /// Whether it still runs; false if nothing is known.
  [[nodiscard]] bool runs() const { return pidfd_ && !ended(); }
  /// How it has ended; nothing if it hasn't, or if the kernel doesn't tell. The kernel tells while the
  /// process waits for its parent, if it is not 0 and this process may trace that one (proc(5)), and from
  /// Linux 6.15 on after that.
  [[nodiscard]] std::optional<ProcessEnd> end() const;

 private:
  pid_t pid_ = 0;
  std::uint64_t start_ = 0;
  UniqueFd pidfd_;
};

}  // namespace farport::router
