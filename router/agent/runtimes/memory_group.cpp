#include "router/agent/runtimes/memory_group.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/vfs.h>

#include "router/agent/runtimes/process_root.hpp"
#include "transport/child_process.hpp"
#include "transport/offload.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

/// Opens a file of control groups that another process sees at this path. The process may have put anything
/// there, so nothing else is opened for more than a look at its type.
UniqueFd open_group_file(const ProcessRoot& root, const std::string& path) {
  UniqueFd file =
      root.open_beneath(path, O_PATH | O_NOFOLLOW | O_CLOEXEC, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
  struct statfs system {};
  const bool is_group = file && ::fstatfs(file.get(), &system) == 0 &&
                        (system.f_type == CGROUP2_SUPER_MAGIC || system.f_type == CGROUP_SUPER_MAGIC);
  return is_group ? std::move(file) : UniqueFd();
}

/// What a process sees as its own group, with the descriptors that its paths lead to.
std::optional<MemoryGroupFiles> hold_own_group(pid_t pid, std::vector<UniqueFd>& held) {
  const auto root = ProcessRoot::open(pid);
  if (!root) return std::nullopt;
  const auto hold = [&](std::string& path) {
    UniqueFd file = open_group_file(*root, path);
    path = file ? fmt::format("/proc/self/fd/{}", file.get()) : std::string();
    if (file) held.push_back(std::move(file));
  };
  for (const auto& [directory, version] :
       {std::pair("/sys/fs/cgroup", 2), std::pair("/sys/fs/cgroup/memory", 1)}) {
    MemoryGroupFiles files = MemoryGroupFiles::in(directory, version);
    for (std::string* const path : {&files.kills, &files.usage, &files.limit, &files.stat}) hold(*path);
    if (!files.kills.empty()) return files;
    held.clear();
  }
  return std::nullopt;
}

}  // namespace

std::optional<MemoryGroup> MemoryGroup::find(pid_t pid, std::uint64_t start) {
  if (pid <= 0) return std::nullopt;
  MemoryGroup group;
  group.groups_ = memory_groups_of(pid);
  if (group.groups_.empty()) {
    auto own = hold_own_group(pid, group.held_);
    if (!own) return std::nullopt;
    group.groups_.push_back(std::move(*own));
  }
  const auto kills = oom_kills(group.groups_.front().kills);
  // The pid may belong to another process by now.
  if (!kills || transport::start_time_of(pid) != start) return std::nullopt;
  group.kills_ = *kills;
  return group;
}

bool MemoryGroup::ran_out() const {
  return oom_kills(groups_.front().kills).value_or(0) > kills_;
}

std::vector<MemoryUse> MemoryGroup::uses() const {
  std::vector<MemoryUse> uses;
  for (const MemoryGroupFiles& group : groups_) {
    if (const auto use = memory_use(group)) uses.push_back(*use);
  }
  return uses;
}

std::optional<MemoryUse> MemoryGroup::use() const {
  const auto all = uses();
  const auto tightest = std::ranges::max_element(all, {}, [](const MemoryUse& use) {
    return static_cast<double>(use.used) / static_cast<double>(use.limit);
  });
  return tightest == all.end() ? std::nullopt : std::optional(*tightest);
}

std::optional<std::uint64_t> MemoryGroup::room() const {
  std::optional<std::uint64_t> least;
  for (const MemoryUse& use : uses()) {
    const std::uint64_t left = use.limit - std::min(use.used, use.limit);
    least = std::min(left, least.value_or(left));
  }
  return least;
}

namespace {

constexpr int kMostLookups = 16;
constexpr transport::Milliseconds kLookupLimit{10'000};

/// One of those under way, for as long as it exists.
class LookupCount {
 public:
  explicit LookupCount(std::shared_ptr<std::atomic<int>> of) : of_(std::move(of)) { ++*of_; }
  LookupCount(const LookupCount&) = delete;
  LookupCount& operator=(const LookupCount&) = delete;
  ~LookupCount() { --*of_; }

 private:
  std::shared_ptr<std::atomic<int>> of_;
};

tl::unexpected<Error> took_too_long() {
  return fail_errno("find", "the control group", ETIMEDOUT);
}

}  // namespace

transport::Task<Result<MemoryGroupPtr>> MemoryGroups::find(std::string runtime_id) {
  struct Found {
    std::optional<MemoryGroup> group;
    std::atomic<bool> began = false;
  };
  const DiagnosticPort* const port = registry_.port(runtime_id);
  if (port == nullptr) co_return fail_errno("find", "the control group", ESRCH);
  std::erase_if(known_, [this](const auto& each) {
    return each.second.hangs ? registry_.port(each.first) == nullptr : each.second.group.expired();
  });
  const auto known = known_.find(runtime_id);
  if (known != known_.end() && known->second.hangs) co_return took_too_long();
  const MemoryGroupPtr before = known == known_.end() ? nullptr : known->second.group.lock();
  if (before != nullptr && before->exists()) co_return before;
  if (*under_way_ >= kMostLookups) co_return fail_errno("find", "the control group", EAGAIN);
  const auto found = std::make_shared<Found>();
  std::function<void()> work = [found, pid = port->process().pid, start = port->process_start(),
                                count = std::make_shared<LookupCount>(under_way_)] {
    found->began = true;
    found->group = MemoryGroup::find(pid, start);
  };
  const Result<void> looked = co_await transport::run_detached(loop_, std::move(work), kLookupLimit);
  if (!looked && !found->began) co_return fail_errno("find", "the control group", EAGAIN);
  if (!looked) {
    known_.insert_or_assign(std::move(runtime_id), Known{{}, true});
    co_return took_too_long();
  }
  if (!found->group) co_return fail_errno("find", "the control group", ENOENT);
  MemoryGroupPtr group = std::make_shared<const MemoryGroup>(std::move(*found->group));
  known_.insert_or_assign(std::move(runtime_id), Known{group});
  co_return group;
}

transport::Task<std::optional<std::uint64_t>> MemoryGroups::room_of(std::string runtime_id) {
  const auto group = co_await find(std::move(runtime_id));
  if (!group) co_return std::nullopt;
  std::function<std::optional<std::uint64_t>()> look = [of = *group] { return of->room(); };
  const auto room = co_await transport::offloaded(loop_, std::move(look));
  co_return room;
}

}  // namespace farport::router
