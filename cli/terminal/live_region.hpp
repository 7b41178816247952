// LiveRegion and status lines: lines at the end of a terminal's output that are redrawn in place.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "cli/terminal/table.hpp"
#include "router/wire/dump.hpp"
#include "transport/timer.hpp"

namespace farport::cli {

/// One line of status on standard error, redrawn in place. Shows nothing if that is no terminal.
class StatusLine {
 public:
  StatusLine();

  /// Whether standard error is a terminal.
  [[nodiscard]] bool on_terminal() const { return terminal_; }
  /// Replaces the drawn line by as much of the text as fits.
  void draw(const std::string& text);
  /// Reports an interruption and its reason in a separate line. Repetitions of the same reason are left out.
  void interrupted(const std::string& why);
  /// Prints a text in a separate line.
  void say(const std::string& text);
  /// Removes the status line.
  void end();

 private:
  bool terminal_;
  bool shown_ = false;
  std::string told_;  ///< The latest reason of an interruption.
};

/// Computes how fast a dump is transferred, from successive progress reports.
class DumpRate {
 public:
  /// "sent 230 of 512 MiB, 88 MiB/s"
  [[nodiscard]] std::string describe(const router::DumpProgress& progress);

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point began_ = Clock::now();
  router::DumpProgress::Phase phase_ = router::DumpProgress::Phase::writing;
};

/// A dump's progress in one line on standard error; nothing if that is no terminal.
class ProgressBar : public StatusLine {
 public:
  void show(const router::DumpProgress& progress);

 private:
  DumpRate rate_;
};

/// A recording's progress in one line on standard error, redrawn several times a second; nothing if that is
/// no terminal.
class ProgressLine final : StatusLine, transport::Timer {
 public:
  using StatusLine::interrupted;
  using StatusLine::say;
  using Clock = std::chrono::steady_clock;

  explicit ProgressLine(transport::Loop& loop) : Timer(loop) {}
  ~ProgressLine() = default;

  /// Starts the progress of `what`. Without a length it runs until it is stopped.
  void begin(std::string what, std::optional<Clock::duration> length);
  /// Counts received bytes.
  void add(std::uint64_t bytes) { bytes_ += bytes; }
  /// Shows `doing` from now on, instead of the remaining time.
  void note(std::string doing);
  void end();

 private:
  void on_time() override { redraw(); }
  void redraw();
  /// "orders: 12.5 MiB, 310 KiB/s, 18 s left"
  [[nodiscard]] std::string describe(Clock::time_point now) const;

  std::string what_;
  std::string doing_;
  std::optional<Clock::duration> length_;
  std::uint64_t bytes_ = 0;
  Clock::time_point began_ = Clock::now();
};

/// Whether lines can be redrawn on `fd`: a terminal that supports cursor movement (not TERM=dumb).
[[nodiscard]] bool can_draw_on(int fd);

/// How many lines of a terminal the drawn lines take. If the terminal has become narrower, it has wrapped
/// them.
[[nodiscard]] std::size_t lines_taken(const std::vector<std::size_t>& widths, std::size_t columns);

/// Lines at the end of a terminal's output that are redrawn in place.
class LiveRegion {
 public:
  /// `fd`: a terminal, which must stay open. Make it before signals are watched: the disposition of SIGINT at
  /// start tells whether a shell without job control has started this process in the background.
  explicit LiveRegion(int fd);
  LiveRegion(const LiveRegion&) = delete;
  LiveRegion& operator=(const LiveRegion&) = delete;

  /// Whether this process may draw on the terminal. In the background it would overwrite what other programs
  /// print.
  [[nodiscard]] bool in_foreground() const;
  /// The width and number of lines that fit the window now.
  [[nodiscard]] TerminalSize room() const;
  /// Replaces the drawn lines. `lines` must fit room(). Never waits: returns false if the terminal takes
  /// nothing now (Ctrl-S, a slow network); then draw again later.
  bool draw(const std::vector<std::string>& lines);
  /// Erases the drawn lines.
  void clear();
  /// Leaves the drawn lines in place, since other output follows them.
  void forget() { drawn_.clear(); }

 private:
  [[nodiscard]] std::string to_first_line() const;
  bool flush();

  int terminal_;
  bool background_from_start_;
  UniqueFd out_;                    ///< The same terminal, opened non-blocking.
  std::vector<std::size_t> drawn_;  ///< Width of each drawn line.
  std::string pending_;             ///< Output that the terminal has not taken yet.
};

}  // namespace farport::cli
