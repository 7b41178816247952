// MemoryGroup: the control group in which a process's memory is counted, and limited.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "base/resources.hpp"
#include "base/unique_fd.hpp"
#include "router/agent/runtimes/registry.hpp"
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
  /// How many bytes its processes can still get, by its own limit and its parents'. Nothing as above.
  [[nodiscard]] std::optional<std::uint64_t> room() const;

 private:
  [[nodiscard]] std::vector<MemoryUse> uses() const;

  std::vector<UniqueFd> held_;  ///< What the files' paths lead to, if they are another process's.
  std::vector<MemoryGroupFiles> groups_;
  std::uint64_t kills_ = 0;  ///< At the beginning.
};

using MemoryGroupPtr = std::shared_ptr<const MemoryGroup>;

/// The groups of the registry's runtimes. Each is looked for on a thread of its own: what a process has put
/// in the way may take forever. Few at a time; their threads may outlive this.
class MemoryGroups {
 public:
  MemoryGroups(transport::Loop& loop, Registry& registry) : loop_(loop), registry_(registry) {}
  MemoryGroups(const MemoryGroups&) = delete;
  MemoryGroups& operator=(const MemoryGroups&) = delete;

  /// The group of the runtime's process. It is looked for only if nobody has it, or it is gone. Errors: ESRCH
  /// if the runtime has ended, EAGAIN if too many are looked for or nothing could be started, ENOENT if there
  /// is none that can be read here, ETIMEDOUT, once and for all, if looking takes too long.
  transport::Task<Result<MemoryGroupPtr>> find(std::string runtime_id);
  /// How many bytes the runtime's process and the others of its group can still get. Nothing if there is no
  /// limit, or none that can be read here.
  transport::Task<std::optional<std::uint64_t>> room_of(std::string runtime_id);

 private:
  struct Known {
    std::weak_ptr<const MemoryGroup> group;
    bool hangs = false;  ///< Looking for it took too long.
  };

  transport::Loop& loop_;
  Registry& registry_;
  std::map<std::string, Known> known_;  ///< By the runtime's id.
  std::shared_ptr<std::atomic<int>> under_way_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace farport::router
