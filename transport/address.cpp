#include "transport/address.hpp"

#include <cstring>

#include <arpa/inet.h>
#include <netdb.h>

namespace farport::transport {
namespace {

/// One uv_getaddrinfo request that outlives a cancelled coroutine.
struct Lookup {
  uv_getaddrinfo_t request{};
  Loop* loop = nullptr;
  Waiter waiter;
  int status = 0;
  addrinfo* found = nullptr;
  bool called_back = false;
  bool abandoned = false;

  ~Lookup() {
    if (found != nullptr) uv_freeaddrinfo(found);
  }
};

/// Owns a Lookup until its callback has run.
class LookupAwaiter {
 public:
  LookupAwaiter(Loop& loop, const char* host, const char* port) : lookup_(new Lookup) {
    lookup_->loop = &loop;
    lookup_->request.data = lookup_;
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    started_ = uv_getaddrinfo(loop.uv(), &lookup_->request, on_done, host, port, &hints);
  }
  LookupAwaiter(const LookupAwaiter&) = delete;
  LookupAwaiter& operator=(const LookupAwaiter&) = delete;
  ~LookupAwaiter() {
    lookup_->waiter.unlink();
    // libuv needs it no more: the callback has come, even if no coroutine has been resumed for it.
    if (lookup_->called_back || started_ != 0) {
      delete lookup_;
      return;
    }
    lookup_->abandoned = true;
    uv_cancel(reinterpret_cast<uv_req_t*>(&lookup_->request));
  }
  [[nodiscard]] bool await_ready() const noexcept { return started_ != 0; }
  void await_suspend(std::coroutine_handle<> coroutine) { lookup_->waiter.coroutine = coroutine; }
  Lookup& await_resume() {
    if (started_ != 0) lookup_->status = started_;
    return *lookup_;
  }

 private:
  static void on_done(uv_getaddrinfo_t* request, int status, addrinfo* found) {
    auto* lookup = static_cast<Lookup*>(request->data);
    lookup->found = found;
    if (lookup->abandoned) {
      delete lookup;
      return;
    }
    lookup->called_back = true;
    lookup->status = status;
    lookup->loop->make_ready(lookup->waiter);
  }

  Lookup* lookup_;
  int started_ = 0;
};

bool same(const Address& address, const addrinfo& entry) {
  return address.size == entry.ai_addrlen && std::memcmp(&address.storage, entry.ai_addr, address.size) == 0;
}

/// The addresses that a literal stands for; nullptr where `host` is a name.
addrinfo* parse_literal(const std::string& host, const std::string& service) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* literal = nullptr;
  return ::getaddrinfo(host.c_str(), service.c_str(), &hints, &literal) == 0 ? literal : nullptr;
}

std::vector<Address> collect(const addrinfo* entry) {
  std::vector<Address> addresses;
  for (; entry != nullptr; entry = entry->ai_next) {
    bool known = false;
    for (const Address& address : addresses) known |= same(address, *entry);
    if (known || entry->ai_addrlen > sizeof(sockaddr_storage)) continue;
    Address address;
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.size = entry->ai_addrlen;
    addresses.push_back(address);
  }
  return addresses;
}

}  // namespace

std::string Address::text() const {
  char host[INET6_ADDRSTRLEN] = "";
  if (storage.ss_family == AF_INET6) {
    const in6_addr& address = reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&address)) {
      // As an IPv4 peer is seen by a socket for both (RFC 4291 section 2.5.5.2): its last four bytes.
      inet_ntop(AF_INET, &address.s6_addr[12], host, sizeof host);
      return std::string(host) + ":" + std::to_string(port());
    }
    inet_ntop(AF_INET6, &address, host, sizeof host);
    return "[" + std::string(host) + "]:" + std::to_string(port());
  }
  inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr, host, sizeof host);
  return std::string(host) + ":" + std::to_string(port());
}

std::uint16_t Address::port() const {
  // The port stands at the same place in both families.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

bool Address::is_loopback() const {
  if (storage.ss_family == AF_INET6) {
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr);
  }
  const auto* v4 = reinterpret_cast<const sockaddr_in*>(&storage);
  return (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
}

bool is_literal(const std::string& host) {
  addrinfo* literal = parse_literal(host, "0");
  if (literal != nullptr) ::freeaddrinfo(literal);
  return literal != nullptr;
}

Task<Result<std::vector<Address>>> resolve(Loop& loop, std::string host, std::uint16_t port) {
  const std::string service = std::to_string(port);
  // A literal needs no resolver, and so no thread.
  if (addrinfo* literal = parse_literal(host, service)) {
    std::vector<Address> addresses = collect(literal);
    ::freeaddrinfo(literal);
    co_return addresses;
  }
  LookupAwaiter awaiter(loop, host.c_str(), service.c_str());
  const Lookup& lookup = co_await awaiter;
  if (lookup.status != 0) {
    co_return fail("resolve", host, uv_strerror(lookup.status), "check the name and this host's DNS");
  }
  co_return collect(lookup.found);
}

Result<std::vector<Address>> resolve_here(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (status != 0) {
    return fail("resolve", host, ::gai_strerror(status), "check the name and this host's DNS");
  }
  std::vector<Address> addresses = collect(found);
  ::freeaddrinfo(found);
  return addresses;
}

}  // namespace farport::transport
