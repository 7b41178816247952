#include "router/agent/sampler/process_look.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/resources.hpp"
#include "router/agent/runtimes/process_root.hpp"
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

/// Whether it is a file of a control group that everybody may read.
bool is_of_group(const UniqueFd& file) {
  struct stat status {};
  struct statfs system {};
  return file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) &&
         (status.st_mode & S_IROTH) != 0 && ::fstatfs(file.get(), &system) == 0 &&
         (system.f_type == CGROUP2_SUPER_MAGIC || system.f_type == CGROUP_SUPER_MAGIC);
}

/// The root of a process, which may have put anything at its paths: nothing is opened there for more than a
/// look at its type before that is known.
class GroupRoot {
 public:
  /// Acts as the process's user from then on.
  GroupRoot(ProcessRoot root, uid_t user)
      : opened_(::open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC)), root_(std::move(root)) {
    const UserFiles as_user(root_, user);
  }

  [[nodiscard]] MemoryGroupFiles open(const std::string& directory, int version) const {
    MemoryGroupFiles group = MemoryGroupFiles::in(directory, version);
    for (const auto& [letter, file] : kGroupFiles) (group.*file).open = open_file((group.*file).path);
    return group;
  }

 private:
  [[nodiscard]] UniqueFd open_file(const std::string& path) const {
    const UniqueFd place =
        root_.open_beneath(path, O_PATH | O_NOFOLLOW | O_CLOEXEC, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
    if (!is_of_group(place)) return {};
    return UniqueFd(::openat(opened_.get(), std::to_string(place.get()).c_str(), kOpenAnything));
  }

  UniqueFd opened_;  ///< This process's open files; in the other root there may be no /proc.
  ProcessRoot root_;
};

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
  auto of_process = ProcessRoot::open(request.process);
  if (!of_process) return;
  const GroupRoot root(std::move(*of_process), request.user);
  for (const auto& [directory, version] :
       {std::pair("/sys/fs/cgroup", 2), std::pair("/sys/fs/cgroup/memory", 1)}) {
    const MemoryGroupFiles group = root.open(directory, version);
    if (!group.kills.open) continue;
    const GroupMessage message = message_of(group);
    std::ignore = send_passed(to.get(), message.bytes, message.descriptors);
    return;
  }
}

void send_createdump(const LookRequest& request, const UniqueFd& to) {
  const Createdump found = find_createdump(request.process, request.native, [&](ProcessRoot& root) {
    const UserFiles as_user(root, request.user);
  });
  const std::string bytes =
      std::string(1, static_cast<char>('0' + static_cast<int>(found.state))) + found.path + '\0' + found.why;
  std::ignore = send_passed(to.get(), bytes, {});
}

void send_try(const LookRequest& request, const UniqueFd& to) {
  const SamplingTry tried = try_to_sample(request.process, request.user);
  const std::string bytes(reinterpret_cast<const char*>(&tried), sizeof tried);
  std::ignore = send_passed(to.get(), bytes, {});
}

}  // namespace

void look_at_process(const LookRequest& request, const UniqueFd& to) {
  limit_memory(kLookMemory);
  end_if_stuck();
  switch (request.what) {
    case LookRequest::What::createdump:
      return send_createdump(request, to);
    case LookRequest::What::memory_group:
      return send_group(request, to);
    case LookRequest::What::sampling:
      return send_try(request, to);
  }
}

std::optional<Createdump> createdump_in(const Seen& seen) {
  const std::string_view bytes = seen.bytes;
  constexpr int kStates = static_cast<int>(Createdump::State::never);
  const std::size_t zero = bytes.find('\0');
  const int state = bytes.empty() ? -1 : bytes.front() - '0';
  if (state < 0 || state > kStates || zero == std::string_view::npos) return std::nullopt;
  return Createdump{static_cast<Createdump::State>(state), std::string(bytes.substr(1, zero - 1)),
                    std::string(bytes.substr(zero + 1))};
}

std::optional<MemoryGroupFiles> memory_group_in(Seen seen) {
  if (seen.bytes.size() != 1 + seen.descriptors.size()) return std::nullopt;
  MemoryGroupFiles group;
  group.version = seen.bytes.front() == '1' ? 1 : 2;
  for (std::size_t i = 0; i < seen.descriptors.size(); ++i) {
    const auto* const known =
        std::ranges::find(kGroupFiles, seen.bytes[i + 1], [](const auto& each) { return each.first; });
    const bool is_one = known != kGroupFiles.end() && is_of_group(seen.descriptors[i]);
    if (is_one) (group.*(known->second)).open = std::move(seen.descriptors[i]);
  }
  return group.kills.open ? std::optional(std::move(group)) : std::nullopt;
}

std::optional<SamplingTry> sampling_in(const Seen& seen) {
  SamplingTry tried;
  static_assert(std::is_trivially_copyable_v<SamplingTry>);
  if (seen.bytes.size() != sizeof tried) return std::nullopt;
  std::memcpy(&tried, seen.bytes.data(), sizeof tried);
  return tried;
}

}  // namespace farport::router
