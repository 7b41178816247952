// Lines at the end of what a terminal shows, drawn anew in their place.
#pragma once

#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "cli/terminal/text.hpp"

namespace farport::cli {

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
