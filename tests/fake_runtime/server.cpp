#include "server.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <stdexcept>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "answers.hpp"
#include "dump.hpp"
#include "ipc/event_pipe.hpp"
#include "ipc/message.hpp"
#include "stream_block.hpp"

namespace farport::fake {
namespace {

/// Then it is the other connections' turn, however fast the stream's reader is.
constexpr int kWritesPerTurn = 4;
/// How often streams that have a rate go on.
constexpr int kTickMs = 200;

void append(ipc::Bytes& to, const ipc::Bytes& bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

Guid cookie_for(const Options& options, std::uint64_t pid) {
  if (const auto given = Guid::parse(options.cookie)) return *given;
  Guid cookie;
  for (std::size_t i = 0; i < sizeof pid; ++i) cookie.bytes[i] = static_cast<std::byte>(pid >> (8 * i));
  return cookie;
}

/// Whether .NET Core 3.1 does not know the command.
bool is_new(ipc::Command command) {
  return command.set == ipc::kProcessInfo.set ||
         (ipc::is_collect_tracing(command) && command > ipc::kCollectTracing2);
}

}  // namespace

Server::Server(const Options& options)
    : options_(options), epoll_(::epoll_create1(EPOLL_CLOEXEC)), block_(stream_block(options.stream_file)) {
  if (options_.many == 0) listen(options_.socket, options_.pid);
  for (int i = 0; i < options_.many; ++i) {
    const std::uint64_t pid = options_.pid + static_cast<std::uint64_t>(i);
    const std::string name =
        "/dotnet-diagnostic-" + std::to_string(pid) + "-" + std::to_string(1000 + i) + "-socket";
    listen(options_.directory + name, pid);
  }
}

Server::~Server() {
  for (const auto& [fd, connection] : connections_) ::close(fd);
  for (const auto& port : ports_) {
    ::close(port->fd);
    if (!options_.leave_socket) ::unlink(port->path.c_str());
  }
  ::close(epoll_);
}

void Server::listen(std::string path, std::uint64_t pid) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error("the path is too long: " + path);
  std::memcpy(address.sun_path, path.data(), path.size());
  auto port = std::make_unique<Port>();
  port->fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  ::fchmod(port->fd, 0600);
  if (::bind(port->fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(port->fd, 1024) != 0) {
    throw std::runtime_error(path + ": " + std::strerror(errno));
  }
  port->path = std::move(path);
  port->info = {
      pid,        cookie_for(options_, pid), options_.command_line, "Linux", "x64", options_.name, "10.0.0",
      "linux-x64"};
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = port->fd;
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, port->fd, &event);
  ports_.push_back(std::move(port));
}

void Server::run(const volatile std::sig_atomic_t& stopped) {
  epoll_event events[64];
  std::map<int, const Port*> listening;
  for (const auto& port : ports_) listening[port->fd] = port.get();
  while (stopped == 0) {
    const bool paced =
        options_.stream_rate != 0 && std::any_of(connections_.begin(), connections_.end(),
                                                 [](const auto& each) { return each.second.streaming; });
    const int count = ::epoll_wait(epoll_, events, 64, paced ? kTickMs : -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events[i].data.fd;
      if (const auto port = listening.find(fd); port != listening.end()) {
        accept(*port->second);
        continue;
      }
      const auto found = connections_.find(fd);
      if (found == connections_.end()) continue;
      if ((events[i].events & (EPOLLHUP | EPOLLERR)) != 0) {
        close(fd);
        continue;
      }
      if ((events[i].events & EPOLLIN) != 0) read(found->second);
      if (connections_.contains(fd) && (events[i].events & EPOLLOUT) != 0 && !write(found->second)) close(fd);
    }
    if (paced) write_streams();
  }
}

void Server::accept(const Port& port) {
  for (;;) {
    const int fd = ::accept4(port.fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    if (options_.fault == Fault::close) {
      ::close(fd);
      continue;
    }
    Connection& connection = connections_[fd];
    connection.fd = fd;
    connection.port = &port;
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
    if (options_.fault == Fault::early_answer) {
      append(connection.out, ipc::encode_ok());
      if (!write(connection)) close(fd);
    }
  }
}

void Server::read(Connection& connection) {
  std::byte buffer[4096];
  const ssize_t got = ::read(connection.fd, buffer, sizeof buffer);
  if (got <= 0) {
    // Only the client's end of sending: an answer under way goes on.
    const bool over = got == 0 ? connection.out.empty() && !connection.streaming : errno != EAGAIN;
    if (over) return close(connection.fd);
    connection.client_finished = true;
    watch(connection);
    return;
  }
  connection.in.insert(connection.in.end(), buffer, buffer + got);
  if (connection.in.size() < ipc::kHeaderSize || options_.fault == Fault::hang) return;
  const auto header = ipc::decode_header(connection.in);
  if (!header) return close(connection.fd);
  if (connection.in.size() < header->size) return;
  connection.in.resize(header->size);
  const auto message = ipc::decode_message(connection.in);
  connection.in.clear();
  handle(connection, *message);
  if (!write(connection)) close(connection.fd);
}

void Server::handle(Connection& connection, const ipc::Message& message) {
  const ipc::Command command = message.command();
  connection.close_when_written = true;
  if (options_.fault == Fault::garbage) {
    connection.out.assign(block_.begin(), block_.begin() + 1000);
  } else if (options_.fault == Fault::half_answer) {
    const ipc::Bytes ok = ipc::encode_ok();
    connection.out.assign(ok.begin(), ok.begin() + ipc::kHeaderSize / 2);
  } else if (options_.fault == Fault::flood) {
    connection.streaming = connection.endless = true;
  } else if (options_.fault == Fault::old && is_new(command)) {
    append(connection.out, ipc::encode_error(ipc::hresult::kUnknownCommand));
  } else if (command == ipc::kProcessInfo || command == ipc::kProcessInfo2 || command == ipc::kProcessInfo3) {
    const ipc::Bytes payload = ipc::encode_process_info(command, connection.port->info);
    append(connection.out, *ipc::encode_message(ipc::make_message(ipc::kOk, payload)));
  } else if (ipc::is_collect_tracing(command)) {
    start_session(connection);
  } else if (command == ipc::kStopTracing) {
    const auto session = ipc::SessionId::decode(message.payload);
    if (session) stop_session(session->value);
    append(connection.out, *ipc::encode_message(ipc::make_message(ipc::kOk, message.payload)));
  } else if (ipc::is_core_dump(command) && !options_.dump.empty()) {
    append(connection.out, answer_dump(options_.dump, message));
  } else if (command == ipc::kResumeRuntime) {
    append(connection.out, ipc::encode_ok());
  } else {
    append(connection.out, ipc::encode_error(ipc::hresult::kUnknownCommand));
  }
}

void Server::start_session(Connection& connection) {
  connection.session = next_session_++;
  const ipc::SessionId id{connection.session};
  append(connection.out, *ipc::encode_message(ipc::make_message(ipc::kOk, id.encode())));
  connection.streaming = true;
  connection.began = std::chrono::steady_clock::now();
  const bool whole_file = !options_.stream_file.empty() && options_.stream_bytes == 0;
  connection.left = whole_file ? block_.size() : options_.stream_bytes;
  connection.endless = connection.left == 0;
  connection.silent = options_.fault == Fault::silent;
}

void Server::stop_session(std::uint64_t session) {
  for (auto& [fd, connection] : connections_) {
    if (connection.session != session || !connection.streaming) continue;
    connection.endless = false;
    connection.left = 0;
    watch(connection);
  }
}

std::uint64_t Server::allowed(const Connection& connection) const {
  if (options_.stream_rate == 0) return std::numeric_limits<std::uint64_t>::max();
  const auto since = std::chrono::steady_clock::now() - connection.began;
  const auto seconds =
      static_cast<std::uint64_t>(std::chrono::floor<std::chrono::seconds>(since).count()) + 1;
  return seconds * options_.stream_rate - connection.streamed;
}

void Server::write_streams() {
  std::vector<int> over;
  for (auto& [fd, connection] : connections_) {
    if (connection.streaming && !write(connection)) over.push_back(fd);
  }
  for (const int fd : over) close(fd);
}

bool Server::write(Connection& connection) {
  for (int turn = 0; turn < kWritesPerTurn; ++turn) {
    const bool head = connection.written < connection.out.size();
    if (!head && !connection.endless && connection.left == 0) {
      connection.streaming = false;
      return !connection.close_when_written;
    }
    if (!head && connection.silent && connection.endless) return true;
    const std::size_t place = connection.streamed % block_.size();
    const std::byte* data = head ? connection.out.data() + connection.written : block_.data() + place;
    std::size_t size = head ? connection.out.size() - connection.written : block_.size() - place;
    if (!head && !connection.endless) size = std::min<std::uint64_t>(size, connection.left);
    if (!head) size = std::min<std::uint64_t>(size, allowed(connection));
    if (size == 0) break;
    const ssize_t sent = ::write(connection.fd, data, size);
    if (sent < 0) {
      if (errno != EAGAIN) return false;
      watch(connection);
      return true;
    }
    if (head) {
      connection.written += static_cast<std::size_t>(sent);
      continue;
    }
    connection.streamed += static_cast<std::uint64_t>(sent);
    if (!connection.endless) connection.left -= static_cast<std::uint64_t>(sent);
  }
  watch(connection);
  return true;
}

void Server::watch(Connection& connection) const {
  // Its end of sending, or that it takes what isn't there, would be reported without end.
  const std::uint32_t input = connection.client_finished ? 0U : std::uint32_t{EPOLLIN};
  const bool later = connection.streaming && allowed(connection) == 0;
  const bool nothing = later || (connection.silent && connection.endless);
  const std::uint32_t output = nothing ? 0U : std::uint32_t{EPOLLOUT};
  const std::uint32_t wanted = input | output;
  if (connection.watched == wanted) return;
  connection.watched = wanted;
  epoll_event event{};
  event.events = wanted;
  event.data.fd = connection.fd;
  ::epoll_ctl(epoll_, EPOLL_CTL_MOD, connection.fd, &event);
}

void Server::close(int fd) {
  connections_.erase(fd);
  ::close(fd);
}

}  // namespace farport::fake
