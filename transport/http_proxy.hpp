// Through HTTP proxies: the way out of networks that let nothing else out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/proxy.hpp"
#include "transport/socket.hpp"

namespace farport::transport {

/// Connects to HOST:PORT through the proxy, by CONNECT (RFC 9110 section 9.3.6), with a name and password in
/// Proxy-Authorization (RFC 7617). The proxy resolves the host's name. `limit` is for all of it. Errors: the
/// proxy can't be reached, or what it has answered.
Task<Result<std::unique_ptr<FdStream>>> connect_through(Loop& loop, Proxy proxy, std::string host,
                                                        std::uint16_t port, Milliseconds limit);

}  // namespace farport::transport
