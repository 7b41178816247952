#include "base/unblocked_writer.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <ctime>
#include <string>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace farport {

bool UnblockedWriter::takes_more(int fd) const {
  // poll(2) ignores negative descriptors; the write then reports the error.
  if (full_ == When::wait || fd < 0) return true;
  // pipe(7): a pipe that is ready takes PIPE_BUF bytes. Files are always ready, and so are broken
  // descriptors, whose write fails.
  pollfd ready{fd, POLLOUT, 0};
  return ::poll(&ready, 1, 0) != 0;
}

int UnblockedWriter::write(int fd, std::string_view lines) {
  std::string mended;
  if (cut_ && !lines.empty()) {
    // Ends the line that was cut off, so that a reader by lines does not lose the next one as well.
    mended = "\n" + std::string(lines);
    lines = mended;
  }
  int error = 0;
  while (!lines.empty() && error == 0 && takes_more(fd)) {
    const std::size_t part =
        full_ == When::wait ? lines.size() : std::min<std::size_t>(lines.size(), PIPE_BUF);
    const ssize_t written = ::write(fd, lines.data(), part);
    if (written < 0) {
      error = errno == EINTR ? 0 : errno;
      continue;
    }
    cut_ = written > 0 && lines[static_cast<std::size_t>(written) - 1] != '\n';
    lines.remove_prefix(static_cast<std::size_t>(written));
  }
  lost_ += static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
  // Another program may have set a shared terminal to non-blocking, so EAGAIN is no error.
  return error == EAGAIN ? 0 : error;
}

namespace {

/// "Nov  5 09:27:18" in local time and in English, as RFC 3164, section 4.1.2, requires.
std::string time_of_day() {
  constexpr std::array<const char*, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  return fmt::format("{} {:2} {:02}:{:02}:{:02}", kMonths.at(static_cast<std::size_t>(local.tm_mon)),
                     local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec);
}

}  // namespace

int SyslogWriter::connect(int type) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.size() >= sizeof address.sun_path) return ENAMETOOLONG;
  socket_.copy(address.sun_path, socket_.size());
  UniqueFd connection(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!connection) return errno;
  if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return errno;
  connection_ = std::move(connection);
  is_stream_ = type == SOCK_STREAM;
  return 0;
}

int SyslogWriter::connect() {
  const int error = connect(SOCK_DGRAM);
  return error == EPROTOTYPE ? connect(SOCK_STREAM) : error;
}

int SyslogWriter::send(std::string_view message) {
  if (!connection_) {
    const int error = connect();
    if (error != 0) return error;
  }
  std::string whole(message);
  if (is_stream_) whole += '\0';
  const ssize_t sent = ::send(connection_.get(), whole.data(), whole.size(), MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(whole.size())) return 0;
  const int error = sent < 0 ? errno : EAGAIN;
  // A full socket stays open. But if a stream took part of a message, the rest would count as a new line, so
  // reconnect.
  if (sent >= 0 || error != EAGAIN) connection_.reset();
  return error;
}

int SyslogWriter::write(int priority, std::string_view line) {
  const std::string message =
      fmt::format("<{}>{} {}[{}]: {}", priority, time_of_day(), program_, ::getpid(), line);
  const bool was_connected = static_cast<bool>(connection_);
  int error = send(message);
  // A restarted daemon has a new socket.
  if (error != 0 && was_connected && !connection_ && error != EMSGSIZE) error = send(message);
  if (error != 0) ++lost_;
  return error;
}

}  // namespace farport
