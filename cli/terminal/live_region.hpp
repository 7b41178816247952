// Lines at the end of what a terminal shows, drawn anew in their place.
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

// A dump's progress, on a terminal.

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

/// Whether lines can be drawn on `fd` again: it is a terminal, and not one that knows no cursor (TERM=dumb).
[[nodiscard]] bool can_draw_on(int fd);

/// How many lines a terminal of so many columns takes for lines of these widths: one that has become narrower
/// has wrapped them.
[[nodiscard]] std::size_t lines_taken(const std::vector<std::size_t>& widths, std::size_t columns);

class LiveRegion {
 public:
  /// `fd`: a terminal, which must stay open. Made before signals are watched: how SIGINT is treated at the
  /// start says whether a shell without job control has put this process into the background.
  explicit LiveRegion(int fd);
  LiveRegion(const LiveRegion&) = delete;
  LiveRegion& operator=(const LiveRegion&) = delete;

  /// Whether the terminal is for this process to draw on. What another program prints there now would be
  /// drawn over.
  [[nodiscard]] bool in_foreground() const;
  /// How wide lines may be, and how many may be drawn, in the window as it is now.
  [[nodiscard]] TerminalSize room() const;
  /// Replaces what is drawn. `lines` must fit room(). False: the terminal takes nothing at the moment
  /// (Ctrl-S, a slow network), and nothing waits for it: draw again later.
  bool draw(const std::vector<std::string>& lines);
  /// Takes away what is drawn.
  void clear();
  /// Leaves what is drawn where it is: something else has been printed below.
  void forget() { drawn_.clear(); }

 private:
  [[nodiscard]] std::string to_first_line() const;
  bool flush();

  int terminal_;
  bool background_from_start_;
  UniqueFd out_;                    ///< The same terminal, and nothing waits in a write to it.
  std::vector<std::size_t> drawn_;  ///< The width of each line that is drawn.
  std::string pending_;             ///< What the terminal has not taken yet.
};

}  // namespace farport::cli
