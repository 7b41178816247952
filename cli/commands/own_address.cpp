#include "cli/commands/own_address.hpp"

#include <array>
#include <climits>

#include <unistd.h>

#include "base/unique_fd.hpp"
#include "config/values.hpp"
#include "transport/address.hpp"

namespace farport::cli {
namespace {

/// Of documentation (RFC 5737, RFC 3849): no route leads to them but the one that leads everywhere. The port
/// is any.
constexpr const char* kFarIpv4 = "192.0.2.1";
constexpr const char* kFarIpv6 = "2001:db8::1";
constexpr std::uint16_t kAnyPort = 9;

/// Where a packet to `far` would come from; empty where none could be sent. A datagram socket that is
/// connected has an address, and has sent nothing.
std::string address_towards(const char* far) {
  const auto found = transport::resolve_here(far, kAnyPort);
  if (!found) return {};
  const transport::Address& there = found->front();
  const UniqueFd socket(::socket(there.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), there.get(), there.size) != 0) return {};
  transport::Address own;
  own.size = sizeof own.storage;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own.storage), &own.size) != 0) return {};
  const auto address = config::parse_address(own.text());
  return address ? address->host : "";
}

}  // namespace

std::string own_address(int family) {
  if (std::string address = address_towards(family == AF_INET6 ? kFarIpv6 : kFarIpv4); !address.empty())
    return address;
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

}  // namespace farport::cli
