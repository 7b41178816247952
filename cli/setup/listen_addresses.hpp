// Where to listen, from configuration to sockets.
#pragma once

#include <vector>

#include "config/settings.hpp"
#include "transport/socket.hpp"

namespace farport::cli {

/// All addresses behind these. Without the thread pool: threads that run already could not be confined.
[[nodiscard]] Result<std::vector<transport::Address>> listen_addresses(
    const std::vector<config::Address>& addresses);

}  // namespace farport::cli
