// How far a recording is, on a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/status_line.hpp"

namespace farport::cli {

/// One line on standard error; nothing where that is no terminal.
class ProgressLine {
 public:
  using Clock = std::chrono::steady_clock;

  /// Begins to count: what is recorded, and for how long; nothing: until it is stopped.
  void begin(std::string what, std::optional<Clock::duration> length);
  /// So many bytes have come. Draws now and then.
  void add(std::uint64_t bytes);
  /// Says what is done from now on in place of how long it takes.
  void note(std::string doing);
  /// See StatusLine.
  void interrupted(const std::string& why) { line_.interrupted(why); }
  void end() { line_.end(); }

  /// "orders: 12.5 MiB, 1.2 MiB/s, 18 s left"
  [[nodiscard]] std::string describe(Clock::time_point now) const;

 private:
  void draw(Clock::time_point now);

  StatusLine line_;
  std::string what_;
  std::string doing_;
  std::optional<Clock::duration> length_;
  std::uint64_t bytes_ = 0;
  Clock::time_point began_ = Clock::now();
  Clock::time_point drawn_{};
};

}  // namespace farport::cli
