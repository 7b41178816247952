// By which address others most likely reach this host.
#pragma once

#include <string>

namespace farport::cli {

/// The address of a family (AF_INET or AF_INET6) from which this host would reach the rest of the world:
/// nothing is sent. Where it has no way there, its host name.
[[nodiscard]] std::string own_address(int family);

}  // namespace farport::cli
