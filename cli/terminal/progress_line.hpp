// How far a recording is, on a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/terminal/status_line.hpp"
#include "transport/timer.hpp"

namespace farport::cli {

/// One line on standard error, drawn anew several times a second; nothing where that is no terminal.
class ProgressLine final : transport::Timer {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ProgressLine(transport::Loop& loop) : Timer(loop) {}
  ~ProgressLine() = default;

  /// Begins to count: what is recorded, and for how long; nothing: until it is stopped.
  void begin(std::string what, std::optional<Clock::duration> length);
  /// So many bytes have come.
  void add(std::uint64_t bytes) { bytes_ += bytes; }
  /// Says what is done from now on in place of how long it takes.
  void note(std::string doing);
  /// See StatusLine.
  void interrupted(const std::string& why) { line_.interrupted(why); }
  void say(const std::string& text) { line_.say(text); }
  void end();

 private:
  void on_time() override { draw(); }
  void draw();
  /// "orders: 12.5 MiB, 310 KiB/s, 18 s left"
  [[nodiscard]] std::string describe(Clock::time_point now) const;

  StatusLine line_;
  std::string what_;
  std::string doing_;
  std::optional<Clock::duration> length_;
  std::uint64_t bytes_ = 0;
  Clock::time_point began_ = Clock::now();
};

}  // namespace farport::cli
