// The schemes of targets that are reached by a command and not by a port, such as ssh://HOST.
#pragma once

#include <array>
#include <string_view>

namespace farport {

inline constexpr std::array<std::string_view, 4> kReachSchemes{"ssh", "docker", "podman", "k8s"};

/// The scheme that a target begins with. Empty if it is none of these.
[[nodiscard]] constexpr std::string_view reach_scheme(std::string_view target) {
  for (const std::string_view scheme : kReachSchemes) {
    if (target.starts_with(scheme) && target.substr(scheme.size()).starts_with("://")) return scheme;
  }
  return {};
}

}  // namespace farport
