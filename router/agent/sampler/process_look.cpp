#include "router/agent/sampler/process_look.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/vfs.h>

#include "base/files.hpp"
#include "router/agent/runtimes/process_root.hpp"
#include "router/agent/sampler/sampler_process.hpp"
#include "router/agent/sampler/user_files.hpp"
#include "router/helpers/passed_message.hpp"
#include "router/symbols/file_symbols.hpp"

namespace farport::router {
namespace {

constexpr std::uint64_t kLookMemory = std::uint64_t{32} << 20;

/// The files of a group with a letter for each, by which the sampler says which it sends.
constexpr std::array<std::pair<char, ControlGroupFile MemoryGroupFiles::*>, 4> kGroupFiles{
    std::pair('k', &MemoryGroupFiles::kills), std::pair('u', &MemoryGroupFiles::usage),
    std::pair('l', &MemoryGroupFiles::limit), std::pair('s', &MemoryGroupFiles::stat)};

/// Opens a file of a control group in the root of a process, which may have put anything there.
UniqueFd open_group_file(const ProcessRoot& root, const std::string& path) {
  UniqueFd file = root.open_beneath(path, kOpenAnything, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
  struct statfs system {};
  const bool is_group = file && ::fstatfs(file.get(), &system) == 0 &&
                        (system.f_type == CGROUP2_SUPER_MAGIC || system.f_type == CGROUP_SUPER_MAGIC);
  return is_group ? std::move(file) : UniqueFd();
}

MemoryGroupFiles open_group(const ProcessRoot& root, const std::string& directory, int version) {
  MemoryGroupFiles group = MemoryGroupFiles::in(directory, version);
  for (const auto& [letter, file] : kGroupFiles)
    (group.*file).open = open_group_file(root, (group.*file).path);
  return group;
}

/// A byte for the version and one for each descriptor.
struct GroupMessage {
  std::string bytes;
  std::vector<int> descriptors;
};

GroupMessage message_of(const MemoryGroupFiles& group) {
  GroupMessage message{std::string(1, group.version == 1 ? '1' : '2'), {}};
  for (const auto& [letter, file] : kGroupFiles) {
    if (!(group.*file).open) continue;
    message.bytes += letter;
    message.descriptors.push_back((group.*file).open.get());
  }
  return message;
}

void send_group(const LookRequest& request, const UniqueFd& to) {
  auto root = ProcessRoot::open(request.process);
  if (!root) return;
  const UserFiles as_user(*root, request.user);
  for (const auto& [directory, version] :
       {std::pair("/sys/fs/cgroup", 2), std::pair("/sys/fs/cgroup/memory", 1)}) {
    const MemoryGroupFiles group = open_group(*root, directory, version);
    if (!group.kills.open) continue;
    const GroupMessage message = message_of(group);
    std::ignore = send_passed(to.get(), message.bytes, message.descriptors);
    return;
  }
}

void send_createdump(const LookRequest& request, const UniqueFd& to) {
  std::optional<UserFiles> as_user;
  const Createdump found = find_createdump(request.process, request.native,
                                           [&](ProcessRoot& root) { as_user.emplace(root, request.user); });
  const std::string bytes =
      std::string(1, static_cast<char>('0' + static_cast<int>(found.state))) + found.path + '\0' + found.why;
  std::ignore = send_passed(to.get(), bytes, {});
}

std::optional<Createdump> createdump_in(std::string_view bytes) {
  constexpr int kStates = static_cast<int>(Createdump::State::never);
  const std::size_t zero = bytes.find('\0');
  const int state = bytes.empty() ? -1 : bytes.front() - '0';
  if (state < 0 || state > kStates || zero == std::string_view::npos) return std::nullopt;
  return Createdump{static_cast<Createdump::State>(state), std::string(bytes.substr(1, zero - 1)),
                    std::string(bytes.substr(zero + 1))};
}

std::optional<MemoryGroupFiles> group_in(Seen seen) {
  if (seen.bytes.size() != 1 + seen.descriptors.size()) return std::nullopt;
  MemoryGroupFiles group;
  group.version = seen.bytes.front() == '1' ? 1 : 2;
  for (std::size_t i = 0; i < seen.descriptors.size(); ++i) {
    const auto* const known =
        std::ranges::find(kGroupFiles, seen.bytes[i + 1], [](const auto& each) { return each.first; });
    if (known != kGroupFiles.end()) (group.*(known->second)).open = std::move(seen.descriptors[i]);
  }
  return group.kills.open ? std::optional(std::move(group)) : std::nullopt;
}

}  // namespace

void look_at_process(const LookRequest& request, const UniqueFd& to) {
  limit_memory(kLookMemory);
  end_if_stuck();
  if (request.what == LookRequest::What::createdump) return send_createdump(request, to);
  send_group(request, to);
}

Createdump look_for_createdump(const SamplerProcess* sampler, pid_t pid, uid_t user, bool native) {
  const auto unknown = [](std::string why) {
    return Createdump{Createdump::State::unknown, {}, std::move(why)};
  };
  if (pid <= 0) return unknown("its process isn't visible here");
  if (sampler == nullptr) return unknown("the agent could not start the process that looks at others");
  const auto seen = sampler->look({LookRequest::What::createdump, pid, user, native});
  if (!seen) return unknown(seen.error().message());
  auto found = createdump_in(seen->bytes);
  return found ? std::move(*found) : unknown("the look at it did not end");
}

OwnGroupOpener own_group_opener(std::shared_ptr<const SamplerProcess> sampler) {
  return [sampler = std::move(sampler)](pid_t pid, uid_t user) -> std::optional<MemoryGroupFiles> {
    if (sampler == nullptr) return std::nullopt;
    auto seen = sampler->look({LookRequest::What::memory_group, pid, user, false});
    if (!seen) return std::nullopt;
    return group_in(std::move(*seen));
  };
}

}  // namespace farport::router
