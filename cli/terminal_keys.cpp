#include "cli/terminal_keys.hpp"

#include <array>

#include <fcntl.h>
#include <unistd.h>

namespace farport::cli {

using transport::Task;

TerminalKeys::TerminalKeys(transport::Loop& loop) {
  if (::tcgetattr(STDIN_FILENO, &before_) != 0 || ::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) return;
  // Opened once more: O_NONBLOCK belongs to what is open, which the shell shares.
  UniqueFd terminal(::open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!terminal) return;
  keys_ = std::make_unique<transport::FdStream>(loop, std::move(terminal), "the terminal");
  continued();
}

TerminalKeys::~TerminalKeys() {
  if (keys_ && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp()) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void TerminalKeys::continued() {
  if (!keys_ || ::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) return;
  termios single = before_;
  single.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  single.c_cc[VMIN] = 1;
  single.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &single);
}

Task<void> TerminalKeys::read(std::function<void(char)> on_key) {
  if (!keys_) co_return;
  std::array<std::byte, 16> typed{};
  for (;;) {
    const transport::Io got = co_await keys_->read(typed);
    if (got.status != transport::IoStatus::ok) co_return;
    for (std::size_t at = 0; at < got.bytes; ++at) on_key(std::to_integer<char>(typed[at]));
  }
}

}  // namespace farport::cli
