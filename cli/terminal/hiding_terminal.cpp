#include "cli/terminal/hiding_terminal.hpp"

#include <fcntl.h>

namespace farport::cli {

HidingTerminal::HidingTerminal() : terminal_(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)) {
  if (!terminal_ || ::tcgetattr(terminal_.get(), &before_) != 0) return;
  termios hiding = before_;
  hiding.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  changed_ = ::tcsetattr(terminal_.get(), TCSANOW, &hiding) == 0;
}

HidingTerminal::~HidingTerminal() {
  if (changed_) ::tcsetattr(terminal_.get(), TCSANOW, &before_);
}

}  // namespace farport::cli
