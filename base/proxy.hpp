// HTTP proxies as they are named: which one, and for which hosts.
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
  std::string user_info{};  ///< "NAME:PASSWORD"; empty: it asks for none.

  /// HOST:PORT: without the password.
  [[nodiscard]] std::string text() const;
};

/// "http://[NAME:PASSWORD@]HOST[:PORT]", or without "http://"; the port is 80 where none is named. A name and
/// a password may be percent-encoded (RFC 3986 section 2.1). Errors, which hold no password: it is something
/// else.
[[nodiscard]] Result<Proxy> parse_proxy(std::string_view url);

/// Whether a host is reached without the proxy by a list such as that of NO_PROXY: names, ".example.com" or
/// "example.com" with all that is below it, addresses, networks ("10.0.0.0/8"), or "*" for all. Loopback
/// always is.
[[nodiscard]] bool goes_direct(std::string_view no_proxy, const std::string& host);

/// The proxy, and where it is left out.
struct ProxyChoice {
  std::optional<Proxy> proxy{};
  std::string no_proxy{};  ///< See goes_direct().

  /// The one on the way to a host; nothing where there is none.
  [[nodiscard]] std::optional<Proxy> towards(const std::string& host) const {
    return proxy && !goes_direct(no_proxy, host) ? proxy : std::nullopt;
  }
};

}  // namespace farport
