#include "transport/socket.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "transport/race.hpp"

namespace farport::transport {
namespace {

/// A uv_getaddrinfo request that may outlive a cancelled coroutine.
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
    // libuv is done with it: the callback has run, even if it has resumed no coroutine.
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

/// The addresses of a literal; nullptr if `host` is a name. The caller frees them.
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
      // A dual-stack socket reports an IPv4 peer so (RFC 4291 section 2.5.5.2): its address is in the last
      // four bytes.
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

namespace {

constexpr int kBacklog = 1024;
/// Pause after an error of accept(2) that is likely to recur at once.
constexpr Milliseconds kAcceptPause{100};
constexpr Milliseconds kBacklogPause{10};
/// Descriptors that accept() leaves for other uses.
constexpr rlim_t kReservedDescriptors = 64;
/// A peer that acknowledges nothing for this long is gone.
constexpr unsigned kUserTimeoutMs = 30'000;
constexpr int kKeepAliveIdleS = 15;
constexpr int kKeepAliveIntervalS = 5;
constexpr int kKeepAliveProbes = 3;

void set_option(int fd, int level, int option, int value) {
  setsockopt(fd, level, option, &value, sizeof value);
}

void tune_tcp(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, static_cast<int>(kMinUnsent));
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(kUserTimeoutMs));
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleS);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalS);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
}

Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() > kMaxUnixPath) {
    return fail("use the socket path", path, "it must have 1 to 107 bytes", "choose a shorter directory");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

/// Restores the mode bits that the umask removed from the socket just made at `path`. Changing the umask
/// instead would affect other threads that create files. Returns an errno value.
int give_back_umask(const std::string& path, mode_t mode) {
  const UniqueFd file(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat made {};
  if (!file || ::fstat(file.get(), &made) != 0) return errno;
  if ((mode & ~made.st_mode) == 0) return 0;
  // Somebody who may rename files in the directory has replaced it.
  if (!S_ISSOCK(made.st_mode) || made.st_uid != ::geteuid() || made.st_nlink != 1) return EPERM;
  const std::string opened = "/proc/self/fd/" + std::to_string(file.get());
  return ::fchmodat(AT_FDCWD, opened.c_str(), mode, 0) == 0 ? 0 : errno;
}

/// The path that a Unix socket is bound to; "@NAME" for an abstract one.
std::string unix_path(const Address& bound) {
  const auto* address = reinterpret_cast<const sockaddr_un*>(bound.get());
  constexpr std::size_t kBefore = offsetof(sockaddr_un, sun_path);
  if (bound.size <= kBefore) return "a Unix socket";
  const std::string_view path(address->sun_path, bound.size - kBefore);
  return path[0] == '\0' ? "@" + std::string(path.substr(1)) : std::string(path.substr(0, path.find('\0')));
}

std::string peer_name(int fd) {
  Address peer;
  peer.size = sizeof peer.storage;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer.storage), &peer.size) != 0) return "peer";
  return peer.text();
}

bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

/// Whether a descriptor is among the last ones available. Those are reserved for connections that exist
/// already, which may need one for a runtime's socket.
bool is_scarce(int fd) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  const rlim_t reserve = std::min<rlim_t>(kReservedDescriptors, limit.rlim_cur / 4);
  return static_cast<rlim_t>(fd) + reserve >= limit.rlim_cur;
}

/// Whether other descriptors are left. A duplicate of any descriptor gets the lowest free number.
bool has_descriptors(int any) {
  const UniqueFd copy(::fcntl(any, F_DUPFD_CLOEXEC, 0));
  return copy && !is_scarce(copy.get());
}

std::string_view connect_hint(int error) {
  switch (error) {
    case ECONNREFUSED:
      return "nothing listens there: is farport serve running?";
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
      return "check the address, the route and the firewalls";
    default:
      return {};
  }
}

}  // namespace

Listener::Listener(Loop& loop, UniqueFd fd, std::string name, bool is_tcp)
    : loop_(loop),
      socket_(loop, std::move(fd), name),
      budget_(loop),
      name_(std::move(name)),
      is_tcp_(is_tcp) {}

Result<std::unique_ptr<Listener>> Listener::tcp(Loop& loop, const Address& address, bool share) {
  const int family = address.storage.ss_family;
  UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno("listen on", address.text(), errno);
  set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (share) set_option(fd.get(), SOL_SOCKET, SO_REUSEPORT, 1);
  if (family == AF_INET6) set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (::bind(fd.get(), address.get(), address.size) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    return fail_errno("listen on", address.text(), errno,
                      errno == EADDRINUSE ? "another process has this port (another farport serve?): choose "
                                            "another one, or give both --reuse-port to hand it over"
                                          : "");
  }
  return inherited(loop, std::move(fd));
}

std::unique_ptr<Listener> Listener::inherited(Loop& loop, UniqueFd fd) {
  Address bound;
  bound.size = sizeof bound.storage;
  getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound.storage), &bound.size);
  const bool is_tcp = bound.storage.ss_family != AF_UNIX;
  std::string name = is_tcp ? bound.text() : unix_path(bound);
  return std::make_unique<Listener>(loop, std::move(fd), std::move(name), is_tcp);
}

Result<std::unique_ptr<Listener>> Listener::unix_socket(Loop& loop, const std::string& path, mode_t mode) {
  ASSIGN_OR_RETURN(const auto address, unix_address(path));
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno("listen on", path, errno);
  // The file gets the descriptor's mode less the umask, so it never has more permissions than `mode`.
  ::fchmod(fd.get(), mode);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail_errno("create the socket", path, errno);
  }
  const int given = give_back_umask(path, mode);
  if (given != 0) return fail_errno("give others access to", path, given);
  if (::listen(fd.get(), kBacklog) != 0) return fail_errno("listen on", path, errno);
  return std::make_unique<Listener>(loop, std::move(fd), path, false);
}

Task<void> Listener::pause(int error) {
  if (on_pause_) {
    const bool shortage = is_shortage(error);
    on_pause_(
        fail_errno("accept connections on", name_, error,
                   shortage
                       ? "waiting for some to end; raise the limit (LimitNOFILE=) or lower limits.sessions"
                       : "")
            .value());
  }
  // A new descriptor gets the lowest free number, so a duplicate tells which one accept(2) would get.
  do co_await sleep(loop_, kAcceptPause);
  while (!has_descriptors(socket_.fd()));
  scarce_ = false;
}

Task<std::unique_ptr<FdStream>> Listener::accept() {
  for (;;) {
    co_await budget_.yield_if_used_up();
    if (scarce_ && !has_descriptors(socket_.fd())) co_await pause(EMFILE);
    UniqueFd fd(::accept4(socket_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd) {
      scarce_ = is_scarce(fd.get());
      std::string name = is_tcp_ ? peer_name(fd.get()) : "local client";
      if (is_tcp_) tune_tcp(fd.get());
      co_return std::make_unique<FdStream>(loop_, std::move(fd), std::move(name));
    }
    const int error = errno;
    if (error == EAGAIN) {
      socket_.found_nothing();
      co_await socket_.readable();
    } else if (error != EINTR && error != ECONNABORTED) {
      co_await pause(error);
    }
  }
}

Task<Result<std::unique_ptr<FdStream>>> connect_tcp(Loop& loop, Address address, Milliseconds limit) {
  UniqueFd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) co_return fail_errno("connect to", address.text(), errno);
  tune_tcp(fd.get());
  const int raw = fd.get();
  auto stream = std::make_unique<FdStream>(loop, std::move(fd), address.text());
  if (::connect(raw, address.get(), address.size) != 0) {
    if (errno != EINPROGRESS) co_return fail_errno("connect to", address.text(), errno, connect_hint(errno));
    const bool in_time = co_await with_deadline(loop, stream->connected(), limit);
    if (!in_time) {
      co_return fail_errno("connect to", address.text(), ETIMEDOUT, connect_hint(ETIMEDOUT));
    }
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(raw, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) co_return fail_errno("connect to", address.text(), error, connect_hint(error));
  }
  co_return stream;
}

Task<Result<std::unique_ptr<FdStream>>> connect_unix(Loop& loop, std::string path, Milliseconds limit,
                                                     std::string name) {
  const Result<sockaddr_un> target = unix_address(path);
  if (name.empty()) name = std::move(path);
  if (!target) co_return tl::unexpected(target.error());
  const std::uint64_t give_up_at = loop.now_ms() + static_cast<std::uint64_t>(limit.count());
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) co_return fail_errno("connect to", name, errno);
  while (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&*target), sizeof *target) != 0) {
    const int error = errno;
    if (error != EAGAIN || loop.now_ms() >= give_up_at) co_return fail_errno("connect to", name, error);
    co_await sleep(loop, kBacklogPause);
  }
  co_return std::make_unique<FdStream>(loop, std::move(fd), std::move(name));
}

Result<PeerCredentials> peer_credentials(const FdStream& stream) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(stream.fd(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return fail_errno("ask who is behind", stream.name(), errno);
  }
  return PeerCredentials{credentials.pid, credentials.uid, credentials.gid};
}

}  // namespace farport::transport
