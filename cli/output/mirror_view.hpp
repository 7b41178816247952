// MirrorView: shows a mirror's state as a table that is redrawn on a terminal, or as JSON lines for scripts.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/live_region.hpp"
#include "cli/terminal/table.hpp"
#include "router/mirror/mirror.hpp"

namespace farport::cli {

/// A mirror's state at one moment.
struct MirrorState {
  std::vector<router::MirrorRow> rows;
  std::vector<router::LinkRow> links;
  std::vector<std::string> notes{};  ///< Further messages, below the table.
  std::string hint{};                ///< The last line, if there is room for it.
};

/// Sorts the rows by host, name and pid.
void sort_rows(std::vector<router::MirrorRow>& rows);

/// The table (rows in the given order), problems of links, notes and the hint, in at most `room.rows` lines
/// of at most `room.columns` each; 0 means no limit. What doesn't fit is counted: "… and 37 more". Messages
/// are wrapped, since their hint is at the end.
[[nodiscard]] std::vector<std::string> mirror_lines(const MirrorState& state, TerminalSize room);

enum class ViewKind { none, table, json };

/// A table if standard output is a terminal; otherwise nothing, since the log has the information.
[[nodiscard]] ViewKind view_for_terminal();

class MirrorView {
 public:
  /// Make it before signals are watched (see LiveRegion).
  explicit MirrorView(ViewKind kind);

  [[nodiscard]] ViewKind kind() const { return kind_; }
  /// Shows the mirror's current state. A table is redrawn in place while this process is in the terminal's
  /// foreground. As JSON, prints a line for each runtime that is new, changed or gone since the last call.
  void show(const router::Mirror& mirror);
  /// The same JSON as text.
  [[nodiscard]] std::string changes(const router::Mirror& mirror);
  /// Whether the table needs redrawing without a change: the process has returned to the foreground, or the
  /// terminal did not accept the last drawing.
  [[nodiscard]] bool is_behind() const;
  /// Removes the table before something else is printed.
  void make_way();
  /// To be called when other programs may have printed meanwhile: the process was stopped or in the
  /// background.
  void continued();
  /// Restores the terminal.
  void end();

 private:
  void draw_table(const router::Mirror& mirror);
  [[nodiscard]] std::vector<std::string> dump_notes(const std::vector<router::MirrorRow>& rows);

  ViewKind kind_;
  std::optional<LiveRegion> region_;                    ///< Set if there is a table.
  bool drawn_ = false;                                  ///< Whether the table is drawn and up to date.
  std::map<std::string, router::MirrorRow> last_rows_;  ///< By agent and runtime, as last printed.
  std::map<std::string, DumpRate> rates_;               ///< Of running dumps, by runtime id.
};

}  // namespace farport::cli
