// What `farport connect` shows of its mirror: a live table on a terminal, JSON lines for scripts.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/live_region.hpp"
#include "cli/terminal/table.hpp"
#include "router/mirror/mirror.hpp"

namespace farport::cli {

// What `farport connect` shows of its mirror, as lines for a terminal.

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

enum class ViewKind { none, table, json };

/// A table where standard output is a terminal, otherwise nothing: the log says it.
[[nodiscard]] ViewKind view_for_terminal();

class MirrorView {
 public:
  /// Made before signals are watched (LiveRegion).
  explicit MirrorView(ViewKind kind);

  [[nodiscard]] ViewKind kind() const { return kind_; }
  /// Shows how the mirror is now: the table is drawn in place, as long as this process is in the terminal's
  /// foreground; as JSON, one line for each runtime that is new, has changed or is gone since the last time.
  void show(const router::Mirror& mirror);
  /// JSON as above, as text.
  [[nodiscard]] std::string changes(const router::Mirror& mirror);
  /// Whether the table should be drawn though nothing has changed: the process has come back to the
  /// foreground, or the terminal would not take it before.
  [[nodiscard]] bool is_behind() const;
  /// Takes the table away, since something else is about to be printed there.
  void make_way();
  /// Something else has been printed since: the process was stopped, or in the background.
  void continued();
  /// Leaves the terminal as it was.
  void end();

 private:
  void draw_table(const router::Mirror& mirror);
  [[nodiscard]] std::vector<std::string> dump_notes(const std::vector<router::MirrorRow>& rows);

  ViewKind kind_;
  std::optional<LiveRegion> region_;              ///< Where there is a table.
  bool drawn_ = false;                            ///< Whether the table is there as it should be.
  std::map<std::string, std::string> last_json_;  ///< By agent and id.
  std::map<std::string, DumpRate> rates_;         ///< Of the dumps under way, by the runtime's id.
};

}  // namespace farport::cli
