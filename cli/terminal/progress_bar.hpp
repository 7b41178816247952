// A dump's progress, on a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "router/wire/dump.hpp"
#include "transport/timer.hpp"

namespace farport::cli {

/// One line on standard error that says how far a command is.
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

/// How far a recording is, on a terminal.
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
