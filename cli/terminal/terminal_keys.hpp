// Terminal input: single keys, secrets without echo, and the end of the terminal.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <termios.h>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "transport/fd_stream.hpp"
#include "transport/task.hpp"
#include "transport/timer.hpp"

namespace farport::cli {

/// While it exists, the terminal on standard input delivers each key at once, without echo. Ctrl-C and Ctrl-Z
/// still send signals. Does nothing if standard input is no terminal.
class TerminalKeys {
 public:
  explicit TerminalKeys(transport::Loop& loop);
  ~TerminalKeys();
  TerminalKeys(const TerminalKeys&) = delete;
  TerminalKeys& operator=(const TerminalKeys&) = delete;

  /// Calls `on_key` for each key, until it is cancelled or the terminal is gone. Arrow and page keys are
  /// mapped to k, j, b and space, as in less(1); other escape sequences are ignored.
  transport::Task<void> read(std::function<void(char)> on_key);
  /// The process was continued after a stop, when the shell had reset the terminal.
  void continued();

 private:
  std::unique_ptr<transport::FdStream> keys_;
  termios before_{};
};

/// Disables echo while it exists, for secrets. Make it before the prompt, or text that is pasted at once
/// would be shown.
class HidingTerminal {
 public:
  HidingTerminal();
  HidingTerminal(const HidingTerminal&) = delete;
  HidingTerminal& operator=(const HidingTerminal&) = delete;
  ~HidingTerminal();

  /// Whether there is a terminal.
  explicit operator bool() const { return static_cast<bool>(terminal_); }

  /// Asks for a line and returns it without its end, in `into`, whose rest is dropped if it is longer.
  /// Ctrl-C, a hang-up and SIGTERM end it at any moment. Errors: EINTR then, or the system's.
  [[nodiscard]] Result<std::string_view> ask(const std::string& prompt, std::span<char> into);

 private:
  UniqueFd terminal_;
  termios before_{};
  bool changed_ = false;
};

/// Notices the end of the controlling terminal. SIGHUP has two meanings: an administrator asks to read files
/// again, or the kernel reports that the terminal is gone. A process started with SIGHUP ignored, as by
/// nohup, outlives its terminal.
class TerminalWatch {
 public:
  /// Make it at start, before signals are watched, since a confined process can't open the terminal.
  /// `on_gone` is called once.
  TerminalWatch(transport::Loop& loop, std::function<void()> on_gone);
  TerminalWatch(const TerminalWatch&) = delete;
  TerminalWatch& operator=(const TerminalWatch&) = delete;

  /// To be called for each SIGHUP. Checks the terminal several times, since the signal may come before it is
  /// gone.
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
