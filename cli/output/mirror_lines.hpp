// What `farport connect` shows of its mirror, as lines for a terminal.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal/text.hpp"
#include "router/mirror/mirror.hpp"

namespace farport::cli {

/// What is known of a mirror at a moment.
struct MirrorState {
  std::vector<router::MirrorRow> rows;
  std::vector<router::LinkRow> links;
  std::vector<std::string> notes{};  ///< What else is to be said, below the table.
  std::string hint{};                ///< The last line, where there is room for it.
};

/// The rows by host, name and pid.
void sort_rows(std::vector<router::MirrorRow>& rows);

/// The table (rows in the order given), what is wrong with the links, notes and the hint, in at most
/// `room.rows` lines of at most `room.columns` each; 0 is no limit. What doesn't fit is counted: "… and 37
/// more". Messages are wrapped, since what to do stands at their end.
[[nodiscard]] std::vector<std::string> mirror_lines(const MirrorState& state, TerminalSize room);

}  // namespace farport::cli
