#include "events/log_lines.hpp"

#include <algorithm>
#include <utility>

namespace farport::events {

void LogLines::on_event(const nettrace::Event& event) {
  auto entry = read_log_entry(trace_, event);
  if (!entry) return;
  entries_.push_back(std::move(*entry));
}

void LogLines::on_dropped(const nettrace::Thread& /*thread*/, std::uint32_t events) {
  dropped_ += events;
}

std::string LogLines::take_lines() {
  // Threads' events come one thread after the other.
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const LogEntry& a, const LogEntry& b) { return a.time < b.time; });
  std::string lines;
  for (const LogEntry& entry : entries_) lines += line_of_(entry);
  entries_.clear();
  return lines;
}

std::vector<std::string> LogLines::take_notices() {
  const std::uint64_t dropped = std::exchange(dropped_, 0);
  if (dropped == 0) return {};
  return {"the runtime has dropped " + std::to_string(dropped) + " events: it had no room"};
}

}  // namespace farport::events
