#include "router/agent/runtimes/memory_group.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <string>
#include <utility>

#include "base/files.hpp"
#include "base/process_stat.hpp"
#include "transport/child_process.hpp"

namespace farport::router {
namespace {

std::string names_of_groups(pid_t pid) {
  constexpr std::size_t kMostNames = std::size_t{64} * 1024;
  return read_limited(directory_of_process(pid) + "/cgroup", kMostNames).value_or("");
}

}  // namespace

std::optional<MemoryGroup> MemoryGroup::find(const transport::PeerCredentials& process, std::uint64_t start,
                                             const OwnGroupOpener& open_own) {
  const pid_t pid = process.pid;
  if (pid <= 0) return std::nullopt;
  MemoryGroup group;
  group.groups_ = memory_groups_of(pid);
  if (group.groups_.empty()) {
    auto own = open_own(pid, process.uid);
    if (!own) return std::nullopt;
    group.groups_.push_back(std::move(*own));
  }
  const auto kills = oom_kills(group.groups_.front());
  // The pid may belong to another process by now.
  if (!kills || transport::start_time_of(pid) != start) return std::nullopt;
  group.kills_ = *kills;
  group.pid_ = pid;
  group.names_ = names_of_groups(pid);
  return group;
}

bool MemoryGroup::is_current() const {
  return oom_kills(groups_.front()).has_value() && names_of_groups(pid_) == names_;
}

std::uint64_t MemoryGroup::kills() const {
  return oom_kills(groups_.front()).value_or(0);
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
  std::function<void()> work = [seen, process, start = port->process_start(), open_own = open_own_] {
    if (seen->group == nullptr || !seen->group->is_current()) {
      auto found = MemoryGroup::find(process, start, open_own);
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
