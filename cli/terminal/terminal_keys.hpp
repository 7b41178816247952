// Single keys as they are typed.
#pragma once

#include <functional>
#include <memory>

#include <termios.h>

#include "transport/fd_stream.hpp"
#include "transport/task.hpp"

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

}  // namespace farport::cli
