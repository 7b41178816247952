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

#include "base/files.hpp"
#include "base/process_stat.hpp"
#include "router/agent/runtimes/process_root.hpp"
#include "transport/child_process.hpp"

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

std::string names_of_groups(pid_t pid) {
  constexpr std::size_t kMostNames = std::size_t{64} * 1024;
  return read_limited(directory_of_process(pid) + "/cgroup", kMostNames).value_or("");
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
  group.pid_ = pid;
  group.names_ = names_of_groups(pid);
  return group;
}

bool MemoryGroup::is_current() const {
  return oom_kills(groups_.front().kills).has_value() && names_of_groups(pid_) == names_;
}

std::uint64_t MemoryGroup::kills() const {
  return oom_kills(groups_.front().kills).value_or(0);
}

bool MemoryGroup::ran_out() const {
  return kills() > kills_;
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
  const auto all = uses();
  const auto least = std::ranges::min_element(all, {}, &MemoryUse::room);
  return least == all.end() ? std::nullopt : std::optional(least->room);
}

std::uint32_t buffer_within(std::uint64_t room) {
  constexpr std::uint64_t kToLeave = 16 << 20;
  constexpr std::uint32_t kLeast = 4;
  const std::uint64_t most = (room - std::min(room, kToLeave)) >> 20;
  return std::max(kLeast, static_cast<std::uint32_t>(std::min<std::uint64_t>(most, UINT32_MAX)));
}

transport::Task<Result<MemoryGroups::Seen>> MemoryGroups::look(std::string runtime_id) {
  const DiagnosticPort* const port = registry_.port(runtime_id);
  if (port == nullptr) co_return fail_errno("find", "the control group", ESRCH);
  std::erase_if(known_, [](const auto& each) { return each.second.expired(); });
  const auto known = known_.find(runtime_id);
  const auto seen = std::make_shared<Seen>();
  if (known != known_.end()) seen->group = known->second.lock();
  const transport::PeerCredentials process = port->process();
  std::function<void()> work = [seen, pid = process.pid, start = port->process_start()] {
    if (seen->group == nullptr || !seen->group->is_current()) {
      auto found = MemoryGroup::find(pid, start);
      seen->group = found ? std::make_shared<const MemoryGroup>(std::move(*found)) : nullptr;
    }
    if (seen->group == nullptr) return;
    seen->room = seen->group->room();
    seen->kills = seen->group->kills();
  };
  const Result<void> looked = co_await looks_.run(process.pid, process.uid, std::move(work));
  if (!looked) co_return fail_errno("find", "the control group", ETIMEDOUT);
  if (seen->group == nullptr) co_return fail_errno("find", "the control group", ENOENT);
  known_.insert_or_assign(std::move(runtime_id), seen->group);
  co_return *seen;
}

transport::Task<Result<MemoryGroupPtr>> MemoryGroups::find(std::string runtime_id) {
  auto seen = co_await look(std::move(runtime_id));
  if (!seen) co_return tl::unexpected(std::move(seen.error()));
  co_return std::move(seen->group);
}

std::optional<std::uint64_t> MemoryGroups::left_in(const Seen& seen) const {
  if (!seen.room || seen.group == nullptr) return seen.room;
  const auto claimed = claims_.find(seen.group->names());
  return claimed == claims_.end() ? *seen.room : *seen.room - std::min(*seen.room, claimed->second);
}

std::unique_ptr<MemoryClaim> MemoryGroups::claim(const Seen& seen, std::uint64_t bytes) {
  if (seen.group == nullptr || bytes == 0) return nullptr;
  return std::make_unique<MemoryClaim>(claims_, seen.group->names(), bytes);
}

}  // namespace farport::router
