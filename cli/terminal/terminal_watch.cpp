#include "cli/terminal/terminal_watch.hpp"

#include <csignal>
#include <utility>

#include <fcntl.h>
#include <termios.h>

#include "transport/signals.hpp"

namespace farport::cli {
namespace {

using transport::Milliseconds;

constexpr Milliseconds kFirstLook{100};
constexpr Milliseconds kLastLook{3000};

}  // namespace

TerminalWatch::TerminalWatch(transport::Loop& loop, std::function<void()> on_gone)
    : loop_(loop), on_gone_(std::move(on_gone)) {
  if (transport::is_ignored(SIGHUP)) return;
  terminal_ = UniqueFd(::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY));
}

void TerminalWatch::hung_up() {
  const bool looking = look_ && !look_->expired();
  if (terminal_.get() >= 0 && !looking) look_in(kFirstLook);
}

void TerminalWatch::look_in(Milliseconds pause) {
  // What is captured goes with the deadline that this one's callback may replace.
  look_.emplace(loop_, pause, [this, pause] { looked_after(pause); });
}

void TerminalWatch::looked_after(Milliseconds pause) {
  if (::tcgetsid(terminal_.get()) >= 0) {
    if (pause < kLastLook) look_in(3 * pause);
    return;
  }
  terminal_.reset();
  on_gone_();
}

}  // namespace farport::cli
