// Connecting to whichever of several addresses answers first (RFC 8305, "Happy Eyeballs").
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/proxy.hpp"
#include "transport/socket.hpp"

namespace farport::transport {

/// How long an address is alone before the next one is tried beside it (RFC 8305 section 5).
inline constexpr Milliseconds kAttemptDelay{250};

/// The same addresses, IPv6 and IPv4 by turns, so that a family that does not work costs one attempt (RFC
/// 8305 section 4). The first one stays the first.
[[nodiscard]] std::vector<Address> by_turns(const std::vector<Address>& addresses);

struct Connected {
  std::unique_ptr<FdStream> stream;
  Address address;
};

/// Connects to one of the addresses, in their order: the next one is tried when the one before has failed, or
/// has been tried for some time. `limit` is each one's. Errors: the first address's.
Task<Result<Connected>> connect_any(Loop& loop, std::vector<Address> addresses, Milliseconds limit);

/// Through HTTP proxies: the way out of networks that let nothing else out.
/// Connects to HOST:PORT through the proxy, by CONNECT (RFC 9110 section 9.3.6), with a name and password in
/// Proxy-Authorization (RFC 7617). The proxy resolves the host's name. `limit` is for all of it. Errors: the
/// proxy can't be reached, or what it has answered.
Task<Result<std::unique_ptr<FdStream>>> connect_through(Loop& loop, Proxy proxy, std::string host,
                                                        std::uint16_t port, Milliseconds limit);

}  // namespace farport::transport
