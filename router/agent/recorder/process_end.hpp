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

/// Tells whether a process's control group has run out of memory.
class MemoryGroupWatch {
 public:
  /// Finds the group's count of processes that the kernel has killed: among the groups that this process
  /// sees, or else, as in a container, where that process sees its own. Nothing if neither can be read. May
  /// wait for file systems that the process has chosen.
  [[nodiscard]] static std::optional<MemoryGroupWatch> find(pid_t pid, std::uint64_t start);

  /// Whether the kernel has killed some process in the group, for lack of memory, since the watch began.
  /// False once the group is gone.
  [[nodiscard]] bool ran_out() const;

 private:
  UniqueFd held_;            ///< What file_ leads to, if it is another process's.
  std::string file_;         ///< See oom_kills().
  std::uint64_t kills_ = 0;  ///< At the beginning.
};

}  // namespace farport::router
