#include "cli/setup/service_manager.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.hpp"

namespace farport::cli {
namespace {

/// The first inherited descriptor, and more sockets than anybody has (sd-daemon.h).
constexpr int kFirstSocket = 3;
constexpr std::uint64_t kMostSockets = 64;

/// Reads and removes a variable that is for this process only, so that child processes don't use it.
std::string take_variable(const char* name) {
  const char* value = std::getenv(name);
  const std::string text = value == nullptr ? "" : value;
  ::unsetenv(name);
  return text;
}

/// Whether a variable with a pid means this process; an empty one means any.
bool is_for_us(const std::string& pid) {
  return pid.empty() || number_in<std::uint64_t>(pid) == static_cast<std::uint64_t>(::getpid());
}

/// Connects to the manager's socket: a path, or an abstract name after "@" (unix(7)).
UniqueFd connect_to(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const bool fits = name.size() > 1 && name.size() < sizeof address.sun_path;
  if (!fits || (name[0] != '/' && name[0] != '@')) return {};
  name.copy(address.sun_path, name.size());
  if (name[0] == '@') address.sun_path[0] = '\0';
  UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) return {};
  return socket;
}

int option_of(int socket, int option) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(socket, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

bool is_listening_stream(int socket) {
  const int domain = option_of(socket, SO_DOMAIN);
  return (domain == AF_INET || domain == AF_INET6 || domain == AF_UNIX) &&
         option_of(socket, SO_TYPE) == SOCK_STREAM && option_of(socket, SO_ACCEPTCONN) == 1;
}

}  // namespace

ServiceManager::ServiceManager() : socket_(connect_to(take_variable("NOTIFY_SOCKET"))) {
  const auto microseconds = number_in<std::uint64_t>(take_variable("WATCHDOG_USEC"));
  const bool ours = is_for_us(take_variable("WATCHDOG_PID"));
  if (!socket_ || !ours || !microseconds) return;
  const std::uint64_t milliseconds = *microseconds / 1000;
  if (milliseconds > 1) watchdog_ = transport::Milliseconds(milliseconds);
}

void ServiceManager::reloading() const {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t microseconds = std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
  tell("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(microseconds));
}

transport::Task<void> ServiceManager::stay_alive(transport::Loop& loop) const {
  while (watchdog_) {
    tell("WATCHDOG=1");
    co_await transport::sleep(loop, *watchdog_ / 2);
  }
}

void ServiceManager::tell(std::string_view state) const {
  // Never waits for a manager that does not read.
  if (socket_) ::send(socket_.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

Result<std::vector<UniqueFd>> inherited_sockets() {
  constexpr const char* kListen = "listen on the service manager's sockets";
  const bool ours = is_for_us(take_variable("LISTEN_PID"));
  const std::uint64_t count = number_in<std::uint64_t>(take_variable("LISTEN_FDS")).value_or(0);
  ::unsetenv("LISTEN_FDNAMES");
  if (!ours || count == 0 || count > kMostSockets) {
    return fail(kListen, {}, "it has passed none",
                "start farport by its socket unit: systemctl start farport.socket");
  }
  std::vector<UniqueFd> sockets;
  for (int fd = kFirstSocket; fd < kFirstSocket + static_cast<int>(count); ++fd) {
    if (!is_listening_stream(fd)) {
      return fail(kListen, "descriptor " + std::to_string(fd), "it is no stream socket that listens",
                  "use ListenStream= with Accept=no");
    }
    sockets.emplace_back(fd);
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  }
  return sockets;
}

}  // namespace farport::cli
