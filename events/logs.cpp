#include "events/logs.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "events/fields.hpp"
#include "events/providers.hpp"

namespace farport::events {

std::optional<LogEntry> read_log_entry(const nettrace::TraceHeader& trace, const nettrace::Event& event) {
  const std::string& kind = event.definition.name;
  if (event.definition.provider != kLoggingProvider || (kind != "MessageJson" && kind != "FormattedMessage"))
    return std::nullopt;
  const Fields fields(event);
  LogEntry entry;
  entry.time = time_of(trace, event);
  entry.thread = event.thread.id;
  const auto most = static_cast<std::int64_t>(LogLevel::critical);
  entry.level = static_cast<LogLevel>(std::clamp<std::int64_t>(fields.integer("Level"), 0, most));
  entry.category = fields.text("LoggerName");
  entry.event_id = fields.integer("EventId");
  entry.event_name = fields.text("EventName");
  entry.message = fields.text("FormattedMessage");
  entry.arguments = fields.text("ArgumentsJson");
  entry.exception = fields.text("ExceptionJson");
  entry.trace_id = fields.text("ActivityTraceId");
  entry.span_id = fields.text("ActivitySpanId");
  return entry;
}

std::string exception_text(const LogEntry& entry) {
  const auto json = nlohmann::json::parse(entry.exception, nullptr, false);
  if (!json.is_object()) return {};
  // Names from LoggingEventSource's ExceptionInfo.
  const auto text = json.find("VerboseMessage");
  return text != json.end() && text->is_string() ? text->get<std::string>() : std::string();
}

}  // namespace farport::events
