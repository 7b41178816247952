// HOST:PORT in one text.
#pragma once

#include <cstdint>
#include <string>

namespace farport {

/// With brackets around an IPv6 address (RFC 3986 section 3.2.2).
[[nodiscard]] inline std::string authority(const std::string& host, std::uint16_t port) {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace farport
