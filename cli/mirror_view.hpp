// What `farport connect` shows of its mirror: a live table on a terminal, JSON lines for scripts.
#pragma once

#include <map>
#include <string>

#include "cli/progress_bar.hpp"
#include "router/mirror.hpp"

namespace farport::cli {

enum class ViewKind { none, table, json };

/// A table where standard output is a terminal, otherwise nothing: the log says it.
[[nodiscard]] ViewKind view_for_terminal();

class MirrorView {
 public:
  explicit MirrorView(ViewKind kind) : kind_(kind) {}

  /// Shows how the mirror is now: the table is redrawn in place; as JSON, one line for each runtime that is
  /// new, has changed or is gone since the last time.
  void show(const router::Mirror& mirror);
  /// Leaves the terminal as it should be.
  void end() const;

 private:
  void draw_table(const router::Mirror& mirror);
  [[nodiscard]] std::string state_of(const router::MirrorRow& row);
  void print_changes(const router::Mirror& mirror);

  ViewKind kind_;
  std::size_t lines_ = 0;                         ///< How many the last table took.
  std::map<std::string, std::string> last_json_;  ///< By agent and id.
  std::map<std::string, DumpRate> rates_;         ///< Of the dumps under way, by the runtime's id.
};

}  // namespace farport::cli
