// The terminal that controls this process, and its end.
#pragma once

#include <functional>
#include <optional>

#include <fcntl.h>
#include <termios.h>

#include "transport/timer.hpp"
#include "transport/unique_fd.hpp"

namespace farport::cli {

/// SIGHUP has two meanings: from an administrator, to read the files again; from the kernel, that the
/// terminal has gone.
class TerminalWatch {
 public:
  /// Made at the start: a confined process may not open the terminal any more. `on_gone` is called once.
  TerminalWatch(transport::Loop& loop, std::function<void()> on_gone)
      : loop_(loop),
        on_gone_(std::move(on_gone)),
        terminal_(::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY)) {}
  TerminalWatch(const TerminalWatch&) = delete;
  TerminalWatch& operator=(const TerminalWatch&) = delete;

  /// To be told of each SIGHUP. Looks a moment later: the kernel sends the signal before it takes the
  /// terminal away.
  void hung_up() {
    if (terminal_.get() < 0) return;
    look_.emplace(loop_, kMoment, [this] {
      if (::tcgetsid(terminal_.get()) >= 0) return;
      terminal_.reset();
      on_gone_();
    });
  }

 private:
  static constexpr transport::Milliseconds kMoment{100};

  transport::Loop& loop_;
  std::function<void()> on_gone_;
  transport::UniqueFd terminal_;
  std::optional<transport::Deadline> look_;
};

}  // namespace farport::cli
