// MemoryGroup: the control group in which a process's memory is counted, and limited.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "base/resources.hpp"
#include "base/unique_fd.hpp"
#include "transport/loop.hpp"
#include "transport/task.hpp"

namespace farport::router {

class MemoryGroup {
 public:
  /// Finds the group of the process: among the groups that this process sees, or else, as in a container,
  /// where that process sees its own. Nothing if neither can be read. May wait for file systems that the
  /// process has chosen. `start`: of the process (base/process_stat.hpp).
  [[nodiscard]] static std::optional<MemoryGroup> find(pid_t pid, std::uint64_t start);

  /// Whether the kernel has killed some process in the group, for lack of memory, since this was found.
  /// False once the group is gone.
  [[nodiscard]] bool ran_out() const;
  /// Whether its files are still there.
  [[nodiscard]] bool exists() const { return oom_kills(groups_.front().kills).has_value(); }
  /// How much of its limit it uses, or its parents of theirs, whichever has the least left. Nothing if there
  /// is no limit.
  [[nodiscard]] std::optional<MemoryUse> use() const;

 private:
  std::vector<UniqueFd> held_;  ///< What the files' paths lead to, if they are another process's.
  std::vector<MemoryGroupFiles> groups_;
  std::uint64_t kills_ = 0;  ///< At the beginning.
};

/// Looks for groups of processes, each on a thread of its own: what a process has put in the way may take
/// forever. Few at a time; their threads may outlive this.
class MemoryGroupLookups {
 public:
  explicit MemoryGroupLookups(transport::Loop& loop) : loop_(loop) {}

  /// Errors: EAGAIN if too many are under way or nothing could be started, ENOENT if there is none that can
  /// be read here, ETIMEDOUT if it takes too long: don't ask again.
  transport::Task<Result<MemoryGroup>> find(pid_t pid, std::uint64_t start);

 private:
  transport::Loop& loop_;
  std::shared_ptr<std::atomic<int>> under_way_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace farport::router
