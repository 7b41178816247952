// What `farport connect` shows of its mirror: a live table on a terminal, JSON lines for scripts.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cli/terminal/live_region.hpp"
#include "cli/output/mirror_lines.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "router/mirror/mirror.hpp"

namespace farport::cli {

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
