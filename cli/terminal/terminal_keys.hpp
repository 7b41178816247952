// Single keys as they are typed.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <termios.h>

#include "base/unique_fd.hpp"
#include "transport/fd_stream.hpp"
#include "transport/task.hpp"
#include "transport/timer.hpp"

namespace farport::cli {

/// While it lives, the terminal on standard input hands over each key at once and shows none. Ctrl-C and
/// Ctrl-Z stay signals. Nothing where standard input is no terminal.
class TerminalKeys {
 public:
  explicit TerminalKeys(transport::Loop& loop);
  ~TerminalKeys();
  TerminalKeys(const TerminalKeys&) = delete;
  TerminalKeys& operator=(const TerminalKeys&) = delete;

  /// Calls `on_key` for each, until it is cancelled or the terminal is gone. Arrows up and down and the page
  /// keys are k, j, b and the space, as less(1) has them; other keys that send sequences are left out.
  transport::Task<void> read(std::function<void(char)> on_key);
  /// The process goes on after it was stopped: the shell has set the terminal back.
  void continued();

 private:
  std::unique_ptr<transport::FdStream> keys_;
  termios before_{};
};

/// The terminal while a secret is typed or pasted.
/// Shows nothing of what is typed while this lives. It is made before anything is asked: what is typed at
/// once, or pasted, would be shown otherwise.
class HidingTerminal {
 public:
  HidingTerminal();
  HidingTerminal(const HidingTerminal&) = delete;
  HidingTerminal& operator=(const HidingTerminal&) = delete;
  ~HidingTerminal();

  /// Whether there is one.
  explicit operator bool() const { return static_cast<bool>(terminal_); }

 private:
  UniqueFd terminal_;
  termios before_{};
  bool changed_ = false;
};

/// The terminal that controls this process, and its end.
/// SIGHUP has two meanings: from an administrator, to read the files again; from the kernel, that the
/// terminal has gone. A process that is started with SIGHUP ignored, as by nohup, outlives its terminal.
class TerminalWatch {
 public:
  /// Made at the start, before signals are watched: a confined process may not open the terminal any more.
  /// `on_gone` is called once.
  TerminalWatch(transport::Loop& loop, std::function<void()> on_gone);
  TerminalWatch(const TerminalWatch&) = delete;
  TerminalWatch& operator=(const TerminalWatch&) = delete;

  /// To be told of each SIGHUP. Looks a few times from then on: the signal may come before the terminal is
  /// taken away.
  void hung_up();

 private:
  void look_in(transport::Milliseconds pause);
  void looked_after(transport::Milliseconds pause);

  transport::Loop& loop_;
  std::function<void()> on_gone_;
  UniqueFd terminal_;
  std::optional<transport::Deadline> look_;
};

}  // namespace farport::cli
