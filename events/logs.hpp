// LogEntry: an entry in an application's log (Microsoft.Extensions.Logging).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "events/fields.hpp"

namespace farport::events {

/// The values of Microsoft.Extensions.Logging's LogLevel.
enum class LogLevel : std::uint8_t { trace, debug, information, warning, error, critical };
/// Their names, by value.
inline constexpr std::array<std::string_view, 6> kLogLevels{"Trace",   "Debug", "Information",
                                                            "Warning", "Error", "Critical"};
[[nodiscard]] inline std::string_view to_string(LogLevel level) {
  return kLogLevels[static_cast<std::size_t>(level)];
}

struct LogEntry {
  Time time;
  std::uint64_t thread = 0;  ///< The operating system's id.
  LogLevel level = LogLevel::information;
  std::string category;
  std::int64_t event_id = 0;
  std::string event_name;
  std::string message;
  std::string arguments;  ///< The message's arguments as JSON from the application, unvalidated.
  std::string exception;  ///< JSON likewise.
  std::string trace_id;   ///< Of the activity (W3C); empty if there is none.
  std::string span_id;
};

/// The log entry in the event; empty if it is none.
[[nodiscard]] std::optional<LogEntry> read_log_entry(const nettrace::TraceHeader& trace,
                                                     const nettrace::Event& event);

/// The entry's exception as the application prints it; empty if there is none.
[[nodiscard]] std::string exception_text(const LogEntry& entry);

}  // namespace farport::events
