// Proxy: an HTTP proxy, and the hosts for which it is used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace farport {

struct Proxy {
  std::string host;
  std::uint16_t port = 0;
  std::string user_info{};  ///< "NAME:PASSWORD"; empty: no authentication.

  /// HOST:PORT, without the password.
  [[nodiscard]] std::string text() const;
};

/// Parses "http://[NAME:PASSWORD@]HOST[:PORT]", where "http://" is optional and the default port is 80. Name
/// and password may be percent-encoded (RFC 3986 section 2.1). Fails on anything else; errors hold no
/// password.
[[nodiscard]] Result<Proxy> parse_proxy(std::string_view url);

/// Whether a host is reached without the proxy, by a list like NO_PROXY's: names, ".example.com" or
/// "example.com" including subdomains, addresses, networks ("10.0.0.0/8"), or "*" for all. Loopback always
/// is.
[[nodiscard]] bool goes_direct(std::string_view no_proxy, const std::string& host);

/// A proxy, and the hosts that are reached without it.
struct ProxyChoice {
  std::optional<Proxy> proxy{};
  std::string no_proxy{};  ///< See goes_direct().

  /// The proxy for a host; empty if it is reached directly.
  [[nodiscard]] std::optional<Proxy> towards(const std::string& host) const {
    return proxy && !goes_direct(no_proxy, host) ? proxy : std::nullopt;
  }
};

}  // namespace farport
