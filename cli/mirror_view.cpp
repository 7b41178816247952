#include "cli/mirror_view.hpp"

#include <algorithm>
#include <cstdio>

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/table.hpp"
#include "router/dump_json.hpp"
#include "router/runtime_json.hpp"

namespace farport::cli {
namespace {

using nlohmann::json;

json object_of(const router::MirrorRow& row) {
  json object = json::parse(router::to_json(row.runtime));
  object["agent"] = row.agent;
  object["local_pid"] = row.local_pid;
  object["socket"] = row.socket;
  object["connected"] = row.connected;
  object["breaks"] = row.breaks;
  object["connections"] = row.active;
  if (row.dump) object["dump"] = json::parse(router::to_json(*row.dump));
  return object;
}

void print_event(const char* kind, const std::string& object) {
  // Flushed line by line: a script waits for each.
  std::printf("{\"event\":\"%s\",\"runtime\":%s}\n", kind, object.c_str());
  std::fflush(stdout);
}

std::string status_line(const router::LinkRow& link) {
  if (link.connected) return {};
  return link.last_error.empty() ? "dialling " + link.agent : link.last_error + "; dialling again";
}

}  // namespace

ViewKind view_for_terminal() {
  return ::isatty(STDOUT_FILENO) != 0 ? ViewKind::table : ViewKind::none;
}

void MirrorView::show(const router::Mirror& mirror) {
  if (kind_ == ViewKind::table) draw_table(mirror);
  if (kind_ == ViewKind::json) print_changes(mirror);
}

std::string MirrorView::state_of(const router::MirrorRow& row) {
  if (!row.dump) rates_.erase(row.runtime.id);
  if (!row.connected) return "reconnecting";
  return row.dump ? "dump: " + rates_[row.runtime.id].describe(*row.dump)
                  : std::string(to_string(row.runtime.state));
}

void MirrorView::draw_table(const router::Mirror& mirror) {
  const std::size_t width = terminal_size(STDOUT_FILENO).columns;
  std::vector<TableRow> rows{{"PID", "NAME", "REMOTE PID", "HOST", "VERSION", "STATE", "CONNECTIONS"}};
  for (const router::MirrorRow& row : mirror.rows()) {
    rows.push_back({std::to_string(row.local_pid), row.runtime.name, std::to_string(row.runtime.pid),
                    row.agent, row.runtime.version, state_of(row), std::to_string(row.active)});
  }
  std::string text = format_table(rows, width);
  for (const router::LinkRow& link : mirror.links()) {
    const std::string line = status_line(link);
    if (!line.empty()) text += format_table({{line}}, width);
  }
  if (rows.size() > 1)
    text += format_table({{"Use these PIDs with any dotnet diagnostic tool. Ctrl-C ends."}}, width);
  // Back to the table's first line, and everything below it away.
  if (lines_ > 0) std::printf("\x1b[%zuF\x1b[J", lines_);
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  lines_ = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

void MirrorView::print_changes(const router::Mirror& mirror) {
  std::map<std::string, std::string> now;
  for (const router::MirrorRow& row : mirror.rows())
    now[row.agent + " " + row.runtime.id] = object_of(row).dump();
  for (const auto& [key, object] : last_json_) {
    if (!now.contains(key)) print_event("removed", object);
  }
  for (const auto& [key, object] : now) {
    const auto before = last_json_.find(key);
    if (before == last_json_.end()) {
      print_event("added", object);
    } else if (before->second != object) {
      print_event("changed", object);
    }
  }
  last_json_ = std::move(now);
}

void MirrorView::end() const {
  if (kind_ == ViewKind::table) std::fputs("\n", stdout);
}

}  // namespace farport::cli
