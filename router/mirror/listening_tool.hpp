// A tool that listens: it expects runtimes to dial it, and a mirrored runtime does.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "ipc/advertise.hpp"
#include "transport/socket.hpp"

namespace farport::router {

/// Dials the Unix socket at `path` as a runtime does (connect-mode diagnostic port): sends the advertise,
/// keeps the connection until a command comes, gives it to `on_command`, and dials again at once. Waits where
/// nobody listens. Never ends by itself.
transport::Task<void> dial_listening_tool(
    transport::Loop& loop, std::string path, ipc::Advertise advertise,
    std::function<void(std::unique_ptr<transport::FdStream>)> on_command);

}  // namespace farport::router
