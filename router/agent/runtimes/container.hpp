// Which container a process is in, by what the kernel tells of it. No container engine is asked.
#pragma once

#include <string_view>

#include <sys/types.h>

#include "router/wire/runtime.hpp"

namespace farport::router {

/// By the text of /proc/PID/cgroup (v1 and v2) and of /proc/PID/mountinfo, in the forms of docker, podman,
/// containerd and cri-o. The id comes from the cgroup, or else from where the engine keeps the files that it
/// mounts into the container; name and pod from kubelet's. The pod is known by its UID then: its name is in
/// its hostname.
struct ContainerSigns {
  Container container;
  bool in_pod = false;
};
[[nodiscard]] ContainerSigns signs_of_container(std::string_view cgroup, std::string_view mounts);

/// The same of a process. Does not wait for the process.
[[nodiscard]] ContainerSigns container_of(pid_t pid);

/// A hostname out of a file's content: the first line, if there is nothing in it that a hostname may not have
/// (RFC 1123 section 2.1). Else empty.
[[nodiscard]] std::string_view hostname_in(std::string_view content);

}  // namespace farport::router
