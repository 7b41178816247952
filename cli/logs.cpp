// farport logs: what a remote application writes to its log.
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/event_lines.hpp"
#include "cli/recorder.hpp"
#include "cli/text.hpp"
#include "events/json.hpp"
#include "events/log_lines.hpp"
#include "router/wanted/recordings.hpp"

namespace farport::cli {
namespace {

/// "12:00:00.123 Warning Orders.Pricing[7] no price for 12", and an exception below it.
std::string log_text(const events::LogEntry& entry) {
  std::string text = fmt::format("{} {:<11} {}", clock_of(entry.time), events::to_string(entry.level),
                                 escape(entry.category));
  if (entry.event_id != 0) text += fmt::format("[{}]", entry.event_id);
  text += " " + escape(entry.message) + "\n";
  const std::string exception = events::exception_text(entry);
  if (!exception.empty()) text += "    " + escape(exception) + "\n";
  return text;
}

std::string log_json(const events::LogEntry& entry) {
  return events::to_json(entry) + "\n";
}

}  // namespace

int logs(const config::LogsSettings& settings) {
  auto wanted = router::wanted_logs(settings.level, settings.categories);
  if (!wanted) return report(wanted.error(), kUsage);
  transport::Loop loop;
  events::LogLines lines(settings.format == "json" ? log_json : log_text);
  EventLines sink(loop, settings, std::move(*wanted), lines);
  return record(settings, sink, loop, Recorder::Progress::hidden);
}

}  // namespace farport::cli
