// Sockets: addresses, listening, accepting and connecting, over TCP and on Unix socket paths.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/error.hpp"
#include "transport/fd_stream.hpp"
#include "transport/loop.hpp"
#include "transport/share.hpp"

namespace farport::transport {

/// An IPv4 or IPv6 address with its port, in the form that socket calls take.
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

/// Whether `host` is an address rather than a name, and so needs no resolver.
[[nodiscard]] bool is_literal(const std::string& host);

/// Resolves a host name or literal to all its addresses, in the resolver's order (RFC 6724), without
/// duplicates.
Task<Result<std::vector<Address>>> resolve(Loop& loop, std::string host, std::uint16_t port);

/// Like resolve(), but blocks the caller and starts no thread.
[[nodiscard]] Result<std::vector<Address>> resolve_here(const std::string& host, std::uint16_t port);

/// A listening socket. accept() is for one coroutine at a time.
class Listener {
 public:
  /// Listens on a TCP address (IPv6 addresses take IPv6 only). `share`: allows other sockets of this user
  /// that also set it on the same port (socket(7), SO_REUSEPORT).
  static Result<std::unique_ptr<Listener>> tcp(Loop& loop, const Address& address, bool share = false);
  /// Creates a Unix socket at `path`, which must not exist yet, with exactly these permissions. The caller
  /// removes the file.
  static Result<std::unique_ptr<Listener>> unix_socket(Loop& loop, const std::string& path,
                                                       mode_t mode = 0600);

  /// Takes over a listening, non-blocking socket, TCP or Unix. Whoever made a Unix socket's path removes it.
  static std::unique_ptr<Listener> inherited(Loop& loop, UniqueFd fd);

  Listener(Loop& loop, UniqueFd fd, std::string name, bool is_tcp);

  /// Waits for the next connection. After an error, such as a shortage of descriptors or memory, it pauses
  /// instead of failing. Some descriptors are left for existing connections. A flood of connections keeps
  /// nobody else from running.
  Task<std::unique_ptr<FdStream>> accept();
  /// `tell` is called once for each such pause, with its cause. It must stay callable for as long as this
  /// exists.
  void on_pause(std::function<void(const Error&)> tell) { on_pause_ = std::move(tell); }
  [[nodiscard]] bool is_tcp() const { return is_tcp_; }
  /// The address in use, with the port that the system chose if 0 was asked for.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  Task<void> pause(int error);

  Loop& loop_;
  FdStream socket_;  ///< Only polled for readiness.
  TurnBudget budget_;
  std::string name_;
  bool is_tcp_;
  bool scarce_ = false;  ///< The last connection took one of the last descriptors.
  std::function<void(const Error&)> on_pause_;
};

/// Connects to a TCP address within `limit`.
Task<Result<std::unique_ptr<FdStream>>> connect_tcp(Loop& loop, Address address, Milliseconds limit);

/// Connects to a Unix socket path. Waits for up to `limit` while the backlog is full. `name`: how the stream
/// and errors call it instead of its path.
Task<Result<std::unique_ptr<FdStream>>> connect_unix(Loop& loop, std::string path, Milliseconds limit,
                                                     std::string name = {});

/// The process and user at the other end of a Unix socket when it connected or listened (unix(7),
/// SO_PEERCRED). The pid is 0 if the process has none in our pid namespace.
struct PeerCredentials {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};
Result<PeerCredentials> peer_credentials(const FdStream& stream);

/// The longest path that a Unix socket can have, in bytes (unix(7): sun_path with its terminating zero).
inline constexpr std::size_t kMaxUnixPath = 107;

}  // namespace farport::transport
