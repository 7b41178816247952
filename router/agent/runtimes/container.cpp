#include "router/agent/runtimes/container.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/read_file.hpp"
#include "router/agent/runtimes/process_walk.hpp"

namespace farport::router {
namespace {

constexpr std::size_t kIdLength = 64;
constexpr std::size_t kUidLength = 36;
constexpr std::size_t kMaxCgroups = 16 * 1024;
/// Of a hostname: 64 bytes on Linux, a full one 253.
constexpr std::size_t kLongestPodName = 253;
/// A container's name in a pod is a label (RFC 1123).
constexpr std::size_t kLongestLabel = 63;

bool is_id(std::string_view text) {
  return text.size() == kIdLength && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_host_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
}

/// Takes the text before the next separator from `rest`.
std::string_view take(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

/// "docker-ID.scope", "libpod-ID", "cri-containerd-ID.scope", "crio-ID.scope", "SLICE:cri-containerd:ID" or
/// "ID".
std::string_view id_in(std::string_view component) {
  constexpr std::string_view kScope = ".scope";
  if (component.ends_with(kScope)) component.remove_suffix(kScope.size());
  const std::size_t mark = component.find_last_of("-:");
  if (mark != std::string_view::npos) component.remove_prefix(mark + 1);
  return is_id(component) ? component : std::string_view();
}

/// Whether a cgroup is a pod's: kubelet's "podUID" and "kubepods-…-podUID.slice", podman's
/// "…-libpod_pod_ID.slice".
bool is_pod(std::string_view component) {
  const bool kubelet = component.find("pod") != std::string_view::npos && component.size() > kUidLength &&
                       (component.starts_with("pod") || component.find("-pod") != std::string_view::npos);
  return kubelet || component.find("libpod_pod_") != std::string_view::npos;
}

void read_cgroup(std::string_view path, ContainerSigns& signs) {
  bool below_id = false;
  while (!path.empty()) {
    const std::string_view component = take(path, '/');
    signs.in_pod = signs.in_pod || is_pod(component);
    const std::string_view id = id_in(component);
    if (id.empty()) continue;
    // Podman without systemd has a pod's containers below the pod's own id.
    signs.in_pod = signs.in_pod || (below_id && component.starts_with("libpod-"));
    below_id = component == id;
    // The innermost one.
    signs.container.id = id;
  }
}

/// What follows `mark` in a path, to the next slash.
std::string_view component_after(std::string_view path, std::string_view mark) {
  const std::size_t at = path.find(mark);
  if (at == std::string_view::npos) return {};
  std::string_view rest = path.substr(at + mark.size());
  return take(rest, '/');
}

/// `source`: where in its file system what is mounted comes from. Engines mount files of theirs into a
/// container: docker /…/containers/ID/hostname, podman /…/overlay-containers/ID/userdata/hostname, and
/// kubelet /…/pods/UID/containers/NAME/….
void read_mount(std::string_view source, ContainerSigns& signs) {
  if (component_after(source, "/pods/").size() == kUidLength) {
    signs.in_pod = true;
    const std::string_view name = component_after(source.substr(source.find("/pods/")), "/containers/");
    if (!name.empty() && name.size() <= kLongestLabel && is_host_text(name)) signs.container.name = name;
    return;
  }
  for (const std::string_view mark : {"/containers/", "-containers/"}) {
    const std::string_view id = component_after(source, mark);
    if (signs.container.id.empty() && is_id(id)) signs.container.id = id;
  }
}

}  // namespace

ContainerSigns signs_of_container(std::string_view cgroup, std::string_view mounts) {
  ContainerSigns signs;
  while (!cgroup.empty()) {
    std::string_view line = take(cgroup, '\n');
    // NUMBER:CONTROLLERS:PATH, and the path may have colons.
    take(line, ':');
    take(line, ':');
    read_cgroup(line, signs);
  }
  while (!mounts.empty()) {
    std::string_view line = take(mounts, '\n');
    constexpr int kSource = 3;
    for (int field = 0; field < kSource; ++field) take(line, ' ');
    read_mount(take(line, ' '), signs);
  }
  return signs;
}

ContainerSigns container_of(pid_t pid) {
  const std::string directory = "/proc/" + std::to_string(pid);
  const auto cgroup = read_limited(directory + "/cgroup", kMaxCgroups);
  const auto mounts = read_limited(directory + "/mountinfo", kMaxMountInfo);
  return signs_of_container(cgroup.value_or(""), mounts.value_or(""));
}

std::string_view hostname_in(std::string_view content) {
  const std::string_view line = take(content, '\n');
  return line.size() <= kLongestPodName && is_host_text(line) ? line : std::string_view();
}

}  // namespace farport::router
