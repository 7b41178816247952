// Network addresses: parsing, resolving, showing.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/error.hpp"
#include "transport/loop.hpp"

namespace farport::transport {

/// An IPv4 or IPv6 address with its port, as the socket calls take it.
struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  /// "10.0.0.2:9000" or "[fd00::2]:9000".
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool is_loopback() const;
  [[nodiscard]] std::uint16_t port() const;

  friend bool operator==(const Address& a, const Address& b) {
    return a.size == b.size && std::memcmp(&a.storage, &b.storage, a.size) == 0;
  }
};

/// Whether this is an address rather than a name, and so needs no resolver.
[[nodiscard]] bool is_literal(const std::string& host);

/// All addresses of a host name or a literal, in the resolver's order (RFC 6724), without duplicates.
Task<Result<std::vector<Address>>> resolve(Loop& loop, std::string host, std::uint16_t port);

/// The same without a loop: the caller waits for the answer, and no thread is started.
[[nodiscard]] Result<std::vector<Address>> resolve_here(const std::string& host, std::uint16_t port);

}  // namespace farport::transport
