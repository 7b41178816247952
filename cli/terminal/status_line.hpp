// One line on standard error that says how far a command is.
#pragma once

#include <string>

namespace farport::cli {

/// Drawn anew each time; nothing where standard error is no terminal.
class StatusLine {
 public:
  StatusLine();

  /// Whether anybody sees it.
  [[nodiscard]] bool on_terminal() const { return terminal_; }
  /// Replaces what is drawn by as much of the text as fits.
  void draw(const std::string& text);
  /// Says in a line of its own that nothing comes for the moment, and why; of one reason, once.
  void interrupted(const std::string& why);
  /// Says something in a line of its own.
  void say(const std::string& text);
  /// Takes the line away.
  void end();

 private:
  bool terminal_;
  bool shown_ = false;
  std::string told_;  ///< Why it was interrupted last.
};

}  // namespace farport::cli
