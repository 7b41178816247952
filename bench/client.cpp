#include "client.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "ipc/event_pipe.hpp"
#include "ipc/message.hpp"

namespace farport::bench {
namespace {

constexpr timeval kPatience{10, 0};

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

}  // namespace

Connection::Connection(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (fd_ < 0) fail("socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error("the path is too long: " + path);
  std::memcpy(address.sun_path, path.data(), path.size());
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    ::close(fd_);
    errno = error;
    fail(path);
  }
}

Connection::Connection(Connection&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Connection::~Connection() {
  if (fd_ >= 0) ::close(fd_);
}

void Connection::send(std::span<const std::byte> message) const {
  while (!message.empty()) {
    const ssize_t sent = ::send(fd_, message.data(), message.size(), MSG_NOSIGNAL);
    if (sent < 0) fail("send");
    message = message.subspan(static_cast<std::size_t>(sent));
  }
}

void Connection::receive_ok() const {
  std::array<std::byte, ipc::kMaxMessageSize> buffer;
  std::size_t have = 0;
  std::size_t wanted = ipc::kHeaderSize;
  while (have < wanted) {
    const std::size_t got = read(std::span(buffer).subspan(have, wanted - have));
    if (got == 0) throw std::runtime_error("the connection was closed before the answer");
    have += got;
    if (wanted != ipc::kHeaderSize || have < ipc::kHeaderSize) continue;
    const auto header = ipc::decode_header(std::span(buffer).first(have));
    if (!header) throw std::runtime_error("the answer is no message");
    wanted = header->size;
  }
  const auto answer = ipc::decode_message(std::span(buffer).first(have));
  if (!answer) throw std::runtime_error("the answer is no message");
  if (ipc::is_ok(*answer)) return;
  const auto error = ipc::decode_error(*answer);
  throw std::runtime_error("the answer is an error: " +
                           (error ? error->message() : ipc::describe(answer->command())));
}

std::size_t Connection::read(std::span<std::byte> buffer) const {
  const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), 0);
  if (got < 0) fail("recv");
  return static_cast<std::size_t>(got);
}

ipc::Bytes process_info_command() {
  return *ipc::encode_message(ipc::make_message(ipc::kProcessInfo2));
}

ipc::Bytes collect_tracing_command() {
  ipc::CollectTracing command;
  command.buffer_size_mb = 256;
  command.providers.push_back({.keywords = ~0ULL,
                               .level = 5,
                               .name = "Microsoft-Windows-DotNETRuntime",
                               .filter = {},
                               .event_filter = {},
                               .tracepoints = {}});
  return *ipc::encode_message(ipc::make_message(command.version, command.encode()));
}

}  // namespace farport::bench
