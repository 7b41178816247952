// Connecting to the first of several addresses that answers (RFC 8305, "Happy Eyeballs"), or through an HTTP
// proxy.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/proxy.hpp"
#include "transport/socket.hpp"

namespace farport::transport {

/// How long an address is tried alone before the next one is tried beside it (RFC 8305 section 5).
inline constexpr Milliseconds kAttemptDelay{250};

/// The same addresses with IPv6 and IPv4 alternating, so that a broken family costs one attempt (RFC 8305
/// section 4). The first stays first.
[[nodiscard]] std::vector<Address> interleave_families(const std::vector<Address>& addresses);

struct Connected {
  std::unique_ptr<FdStream> stream;
  Address address;
};

/// Connects to one of the addresses, trying them in order: the next starts when the previous one has failed
/// or kAttemptDelay is over. `limit` applies to each attempt. Fails with the first address's error.
Task<Result<Connected>> connect_any(Loop& loop, std::vector<Address> addresses, Milliseconds limit);

/// Connects to HOST:PORT through an HTTP proxy by CONNECT (RFC 9110 section 9.3.6), with user name and
/// password in Proxy-Authorization (RFC 7617). The proxy resolves the host name. `limit` covers everything.
/// Fails if the proxy can't be reached or refuses.
Task<Result<std::unique_ptr<FdStream>>> connect_through(Loop& loop, Proxy proxy, std::string host,
                                                        std::uint16_t port, Milliseconds limit);

}  // namespace farport::transport
