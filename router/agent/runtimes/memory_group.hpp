// MemoryGroup: the control group in which a process's memory is counted, and limited.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "base/resources.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "router/agent/runtimes/user_shares.hpp"
#include "transport/loop.hpp"
#include "transport/task.hpp"

namespace farport::router {

/// Opens the files of a process's control group where that process sees its own, as in a container. Nothing
/// if it sees none. May take as long as the process likes, and be called by any thread.
using OwnGroupOpener = std::function<std::optional<MemoryGroupFiles>(pid_t pid, uid_t user)>;

class MemoryGroup {
 public:
  /// Finds the group of the process: among the groups that this process sees, or else by `open_own`. Nothing
  /// if neither can be read. `start`: of the process (base/process_stat.hpp).
  [[nodiscard]] static std::optional<MemoryGroup> find(const transport::PeerCredentials& process,
                                                       std::uint64_t start, const OwnGroupOpener& open_own);

  /// How many processes in the group the kernel has killed for lack of memory. 0 once the group is gone.
  [[nodiscard]] std::uint64_t kills() const;
  /// Whether the kernel has killed some process in the group, for lack of memory, since this was found.
  /// False once the group is gone.
  [[nodiscard]] bool ran_out() const;
  /// Whether its files are still there, and the process has not been moved to another one.
  [[nodiscard]] bool is_current() const;
  /// How much of its limit it uses, or its parents of theirs, whichever has the least left. Nothing if there
  /// is no limit.
  [[nodiscard]] std::optional<MemoryUse> use() const;
  /// How many bytes its processes can still get, by its own limit and its parents'. Nothing as above.
  [[nodiscard]] std::optional<std::uint64_t> room() const;
  /// The same for all processes that are counted together.
  [[nodiscard]] const std::string& names() const { return names_; }

 private:
  [[nodiscard]] std::vector<MemoryUse> uses() const;

  std::vector<MemoryGroupFiles> groups_;
  std::uint64_t kills_ = 0;  ///< At the beginning.
  pid_t pid_ = 0;
  std::string names_;  ///< Of all its groups, as the kernel has them in /proc/PID/cgroup.
};

using MemoryGroupPtr = std::shared_ptr<const MemoryGroup>;

/// The largest event buffer, in MB, for a session with a runtime whose group has so much room: it leaves 16
/// MiB. 4 MB it may have in any case.
[[nodiscard]] std::uint32_t buffer_within(std::uint64_t room);

/// What something that has begun takes of a group's memory in the course of time, until this is destroyed.
class MemoryClaim {
 public:
  /// By the group's names(), in bytes.
  using Claims = std::map<std::string, std::uint64_t>;

  /// `claims` must outlive it.
  MemoryClaim(Claims& claims, std::string names, std::uint64_t bytes)
      : claims_(claims), names_(std::move(names)), bytes_(bytes) {
    claims_[names_] += bytes_;
  }
  MemoryClaim(const MemoryClaim&) = delete;
  MemoryClaim& operator=(const MemoryClaim&) = delete;
  ~MemoryClaim() {
    const auto all = claims_.find(names_);
    all->second -= bytes_;
    if (all->second == 0) claims_.erase(all);
  }

 private:
  Claims& claims_;
  std::string names_;
  std::uint64_t bytes_;
};

/// The groups of the registry's runtimes. What a process has put in the way of a look may hang, so each look
/// has a thread of its own.
class MemoryGroups {
 public:
  MemoryGroups(transport::Loop& loop, Registry& registry, OwnGroupOpener open_own)
      : registry_(registry), open_own_(std::move(open_own)), looks_(loop) {}
  MemoryGroups(const MemoryGroups&) = delete;
  MemoryGroups& operator=(const MemoryGroups&) = delete;

  /// Finds the group of the runtime's process. A group that was found before is shared while the process is
  /// in it. Errors: ESRCH if the runtime has ended, ENOENT if no group can be read here, ETIMEDOUT if it
  /// takes too long.
  transport::Task<Result<MemoryGroupPtr>> find(std::string runtime_id);
  /// A group, and what it says now.
  struct Seen {
    MemoryGroupPtr group;
    std::optional<std::uint64_t> room;  ///< MemoryGroup::room().
    std::uint64_t kills = 0;
  };
  /// The same as find(), and looks at the group.
  transport::Task<Result<Seen>> look(std::string runtime_id);
  /// What is left of the room that was seen, without what others have claimed by now. Nothing if there is no
  /// limit.
  [[nodiscard]] std::optional<std::uint64_t> left_in(const Seen& seen) const;
  /// Claims memory of a group for something that begins. Null if `seen` has no group. This must outlive it.
  [[nodiscard]] std::unique_ptr<MemoryClaim> claim(const Seen& seen, std::uint64_t bytes);

 private:
  Registry& registry_;
  OwnGroupOpener open_own_;
  std::map<std::string, std::weak_ptr<const MemoryGroup>> known_;  ///< By the runtime's id.
  MemoryClaim::Claims claims_;
  ProcessLooks looks_;
};

}  // namespace farport::router
