// Resolving the addresses to listen on.
#pragma once

#include <vector>

#include "config/settings.hpp"
#include "transport/socket.hpp"

namespace farport::cli {

/// All addresses behind these. Does not use the thread pool, since existing threads could not be confined.
[[nodiscard]] Result<std::vector<transport::Address>> listen_addresses(
    const std::vector<config::Address>& addresses);

}  // namespace farport::cli
