#include "cli/output/mirror_view.hpp"

#include <cstdio>

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "router/wire/dump.hpp"
#include "router/wire/runtime.hpp"

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

std::string event_line(const char* kind, const std::string& object) {
  return fmt::format("{{\"event\":\"{}\",\"runtime\":{}}}\n", kind, object);
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
  // A script waits for each.
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
  std::map<std::string, std::string> now;
  for (const router::MirrorRow& row : mirror.rows())
    now[row.agent + " " + row.runtime.id] = object_of(row).dump();
  for (const auto& [key, object] : last_json_) {
    if (!now.contains(key)) lines += event_line("removed", object);
  }
  for (const auto& [key, object] : now) {
    const auto before = last_json_.find(key);
    if (before == last_json_.end()) {
      lines += event_line("added", object);
    } else if (before->second != object) {
      lines += event_line("changed", object);
    }
  }
  last_json_ = std::move(now);
  return lines;
}

void MirrorView::end() {
  if (region_ && region_->in_foreground()) region_->clear();
}

}  // namespace farport::cli
