#include "cli/own_address.hpp"

#include <array>
#include <climits>
#include <memory>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unique_fd.hpp"

namespace farport::cli {
namespace {

/// Of documentation (RFC 5737, RFC 3849): no route leads to them but the one that leads everywhere. The port
/// is any.
constexpr const char* kFarIpv4 = "192.0.2.1";
constexpr const char* kFarIpv6 = "2001:db8::1";
constexpr const char* kAnyPort = "9";

/// Where a packet to `far` would come from; empty where none could be sent. A datagram socket that is
/// connected has an address, and has sent nothing.
std::string address_towards(const char* far) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(far, kAnyPort, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, ::freeaddrinfo);
  const UniqueFd socket(::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0) return {};
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  std::array<char, NI_MAXHOST> text{};
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) return {};
  const auto* address = reinterpret_cast<const sockaddr*>(&own);
  return ::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0 ? text.data()
                                                                                                 : "";
}

}  // namespace

std::string own_address(int family) {
  if (std::string address = address_towards(family == AF_INET6 ? kFarIpv6 : kFarIpv4); !address.empty())
    return address;
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

}  // namespace farport::cli
