// A dump's progress, on a terminal.
#pragma once

#include <chrono>
#include <string>

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

/// One line on standard error that is drawn anew each time; nothing where that is no terminal.
class ProgressBar {
 public:
  ProgressBar();
  void show(const router::DumpProgress& progress);
  /// Says that nothing comes for the moment, and why.
  void interrupted(const std::string& why);
  /// Takes the line away.
  void end();

 private:
  bool terminal_;
  bool shown_ = false;
  std::string told_;  ///< Why it was interrupted last.
  DumpRate rate_;
};

}  // namespace farport::cli
