#include "cli/terminal/live_region.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

#include "transport/signals.hpp"

namespace farport::cli {
namespace {

/// The file on `fd`, opened once more: O_NONBLOCK belongs to what is open, which the shell and other programs
/// share.
UniqueFd open_again(int fd) {
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  UniqueFd again(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  // Another user's terminal (su, sudo) can't be opened; it can be written to.
  return again ? std::move(again) : UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

}  // namespace

bool can_draw_on(int fd) {
  const char* kind = std::getenv("TERM");
  return ::isatty(fd) != 0 && kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
}

std::size_t lines_taken(const std::vector<std::size_t>& widths, std::size_t columns) {
  std::size_t lines = 0;
  for (const std::size_t width : widths) {
    lines += columns == 0 ? 1 : std::max<std::size_t>(1, (width + columns - 1) / columns);
  }
  return lines;
}

LiveRegion::LiveRegion(int fd)
    : terminal_(fd), background_from_start_(transport::is_ignored(SIGINT)), out_(open_again(fd)) {}

bool LiveRegion::in_foreground() const {
  return !background_from_start_ && ::tcgetpgrp(terminal_) == ::getpgrp();
}

TerminalSize LiveRegion::room() const {
  TerminalSize size = terminal_size(terminal_);
  // The cursor stands on a line of its own, below.
  if (size.rows > 1) --size.rows;
  return size;
}

std::string LiveRegion::to_first_line() const {
  const TerminalSize size = room();
  const std::size_t up = std::min(lines_taken(drawn_, size.columns), size.rows);
  return up == 0 ? "\r" : fmt::format("\r\x1b[{}A", up);
}

bool LiveRegion::draw(const std::vector<std::string>& lines) {
  if (!flush()) return false;
  pending_ = to_first_line();
  drawn_.clear();
  for (const std::string& line : lines) {
    // Erased first: behind a line as wide as the window it would take its last character away.
    pending_ += "\x1b[2K" + line + "\r\n";
    drawn_.push_back(columns_of(line));
  }
  pending_ += "\x1b[J";
  return flush();
}

void LiveRegion::clear() {
  if (drawn_.empty() || !flush()) return;
  pending_ = to_first_line() + "\x1b[J";
  drawn_.clear();
  flush();
}

bool LiveRegion::flush() {
  while (!pending_.empty()) {
    const ssize_t written = ::write(out_.get(), pending_.data(), pending_.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    if (written < 0) break;  // the terminal is gone
    pending_.erase(0, static_cast<std::size_t>(written));
  }
  pending_.clear();
  return true;
}

}  // namespace farport::cli
