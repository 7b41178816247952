// A dump's progress, on a terminal.
#pragma once

#include <chrono>
#include <string>

#include "cli/terminal/status_line.hpp"
#include "router/wire/dump.hpp"

namespace farport::cli {

/// How fast a dump comes in, from its progress as it is shown now and then.
class DumpRate {
 public:
  /// "sent 230 of 512 MiB, 88 MiB/s"
  [[nodiscard]] std::string describe(const router::DumpProgress& progress);

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point began_ = Clock::now();
  router::DumpProgress::Phase phase_ = router::DumpProgress::Phase::writing;
};

/// One line on standard error; nothing where that is no terminal.
class ProgressBar {
 public:
  void show(const router::DumpProgress& progress);
  /// See StatusLine.
  void interrupted(const std::string& why) { line_.interrupted(why); }
  void say(const std::string& text) { line_.say(text); }
  void end() { line_.end(); }

 private:
  StatusLine line_;
  DumpRate rate_;
};

}  // namespace farport::cli
