// The terminal while a secret is typed or pasted.
#pragma once

#include <termios.h>

#include "base/unique_fd.hpp"

namespace farport::cli {

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

}  // namespace farport::cli
