#include "cli/output/mirror_view.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/terminal/table.hpp"
#include "router/wire/dump.hpp"
#include "router/wire/runtime.hpp"

namespace farport::cli {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kIndent = 2;
/// In a window with fewer rows, the hint would displace more important lines.
constexpr std::size_t kRowsForHint = 8;
constexpr std::size_t kMaxHintLines = 3;

std::string state_of(const router::MirrorRow& row) {
  if (!row.connected) return "reconnecting";
  return row.dump ? "dumping" : std::string(condition_of(row.runtime));
}

/// Names of the agents' hosts: their own if these are distinct, else their addresses.
std::map<std::string, std::string> hosts_of(const std::vector<router::MirrorRow>& rows) {
  std::map<std::string, std::string> names;
  std::map<std::string, std::string> addresses;
  std::set<std::string> distinct;
  for (const router::MirrorRow& row : rows) {
    names[row.agent] = row.runtime.host;
    addresses[row.agent] = row.agent;
  }
  for (const auto& [agent, name] : names) distinct.insert(name);
  return distinct.size() == names.size() && !distinct.contains("") ? names : addresses;
}

Lines table_of(const MirrorState& state, std::size_t width) {
  const bool several = state.links.size() > 1;
  const std::map<std::string, std::string> hosts = hosts_of(state.rows);
  std::vector<Column> columns{{"LOCAL PID", 9}, {"NAME", 8, 12}, {"REMOTE PID", 5}};
  if (several) columns.push_back({"HOST", 7, 14});
  columns.insert(columns.end(), {{"STATE", 6}, {"CONNS", 3}, {"VERSION", 2}, {"COMMAND LINE", 4, 20}});
  std::vector<TableRow> rows;
  for (const router::MirrorRow& row : state.rows) {
    TableRow cells{std::to_string(row.local_pid), row.runtime.name, std::to_string(row.runtime.pid)};
    if (several) cells.push_back(hosts.at(row.agent));
    cells.insert(cells.end(),
                 {state_of(row), std::to_string(row.active), row.runtime.version, row.runtime.command_line});
    rows.push_back(std::move(cells));
  }
  return rows.empty() ? Lines{} : table_lines(columns, rows, width);
}

/// The line about a link; empty if its runtimes' rows say enough.
std::string note_on(const router::LinkRow& link, bool has_rows) {
  if (!link.connected && link.last_error.empty()) return "dialling " + link.agent;
  if (!link.connected) return link.last_error + "; dialling again";
  return has_rows ? "" : link.agent + ": connected; no runtime to mirror yet";
}

Lines notes_of(const MirrorState& state, std::size_t width) {
  Lines lines;
  const auto add = [&](const std::string& note) {
    for (std::string& line : wrap(escape(note), width, kIndent)) lines.push_back(std::move(line));
  };
  std::unordered_set<std::string_view> with_rows;
  for (const router::MirrorRow& row : state.rows) with_rows.insert(row.agent);
  for (const router::LinkRow& link : state.links) {
    const std::string note = note_on(link, with_rows.contains(link.agent));
    if (!note.empty()) add(note);
  }
  for (const std::string& note : state.notes) add(note);
  return lines;
}

/// Limits the lines to `room`; the last one then tells how many are hidden.
void limit(Lines& lines, std::size_t room) {
  if (lines.size() <= room) return;
  const std::size_t left = room == 0 ? 0 : room - 1;
  const std::size_t more = lines.size() - left;
  lines.resize(left);
  if (room > 0) lines.push_back(fmt::format("… and {} more", more));
}

}  // namespace

void sort_rows(std::vector<router::MirrorRow>& rows) {
  const auto key = [](const router::MirrorRow& row) {
    return std::tie(row.runtime.host, row.agent, row.runtime.name, row.runtime.pid, row.runtime.id);
  };
  std::sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

Lines mirror_lines(const MirrorState& state, TerminalSize room) {
  Lines lines = table_of(state, room.columns);
  Lines notes = notes_of(state, room.columns);
  Lines hint;
  const bool roomy = room.rows == 0 || room.rows >= kRowsForHint;
  if (!state.hint.empty() && roomy) hint = wrap(escape(state.hint), room.columns);
  if (hint.size() > kMaxHintLines) hint.clear();
  if (room.rows > 0) {
    const std::size_t rest = room.rows > hint.size() ? room.rows - hint.size() : 0;
    // Rows leave at least half of the window to messages, and messages to rows.
    const std::size_t beside = rest > lines.size() ? rest - lines.size() : 0;
    limit(notes, std::max(beside, lines.empty() ? rest : rest / 2));
    limit(lines, rest - notes.size());
  }
  lines.insert(lines.end(), notes.begin(), notes.end());
  lines.insert(lines.end(), hint.begin(), hint.end());
  for (std::string& line : lines) line = cut(line, room.columns);
  return lines;
}

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

std::string event_line(const char* kind, const router::MirrorRow& row) {
  return fmt::format("{{\"event\":\"{}\",\"runtime\":{}}}\n", kind, object_of(row).dump());
}

}  // namespace

ViewKind view_for_terminal() {
  return can_draw_on(STDOUT_FILENO) ? ViewKind::table : ViewKind::none;
}

MirrorView::MirrorView(ViewKind kind) : kind_(kind) {
  if (kind == ViewKind::table) region_.emplace(STDOUT_FILENO);
}

void MirrorView::show(const router::Mirror& mirror) {
  if (kind_ == ViewKind::table) draw_table(mirror);
  if (kind_ != ViewKind::json) return;
  std::fputs(changes(mirror).c_str(), stdout);
  // Scripts wait for each line.
  std::fflush(stdout);
}

bool MirrorView::is_behind() const {
  return region_ && !drawn_ && region_->in_foreground();
}

void MirrorView::make_way() {
  if (region_ && drawn_) region_->clear();
  drawn_ = false;
}

void MirrorView::continued() {
  if (region_) region_->forget();
  drawn_ = false;
}

void MirrorView::draw_table(const router::Mirror& mirror) {
  if (!region_->in_foreground()) return continued();
  MirrorState state{mirror.rows(), mirror.links()};
  sort_rows(state.rows);
  state.notes = dump_notes(state.rows);
  if (!state.rows.empty()) state.hint = "Use the LOCAL PIDs with any dotnet diagnostic tool. Ctrl-C ends.";
  drawn_ = region_->draw(mirror_lines(state, region_->room()));
}

std::vector<std::string> MirrorView::dump_notes(const std::vector<router::MirrorRow>& rows) {
  std::vector<std::string> notes;
  for (const router::MirrorRow& row : rows) {
    if (row.dump) {
      notes.push_back(fmt::format("dump of {} (local pid {}): {}", row.runtime.name, row.local_pid,
                                  rates_[row.runtime.id].describe(*row.dump)));
    } else {
      rates_.erase(row.runtime.id);
    }
  }
  return notes;
}

std::string MirrorView::changes(const router::Mirror& mirror) {
  std::string lines;
  std::map<std::string, router::MirrorRow> now;
  for (router::MirrorRow& row : mirror.rows()) {
    std::string key = row.agent + " " + row.runtime.id;
    now.insert_or_assign(std::move(key), std::move(row));
  }
  for (const auto& [key, row] : last_rows_) {
    if (!now.contains(key)) lines += event_line("removed", row);
  }
  for (const auto& [key, row] : now) {
    const auto before = last_rows_.find(key);
    if (before == last_rows_.end()) {
      lines += event_line("added", row);
    } else if (before->second != row) {
      lines += event_line("changed", row);
    }
  }
  last_rows_ = std::move(now);
  return lines;
}

void MirrorView::end() {
  if (region_ && region_->in_foreground()) region_->clear();
}

}  // namespace farport::cli
