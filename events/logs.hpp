// What an application writes to its log (Microsoft.Extensions.Logging).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "events/fields.hpp"

namespace farport::events {

/// LogLevel's numbers.
enum class LogLevel : std::uint8_t { trace, debug, information, warning, error, critical };
/// The words for them, by number.
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
  std::string arguments;  ///< Those of the message, as JSON. What an application says, unchecked.
  std::string exception;  ///< The same.
  std::string trace_id;   ///< Of the activity (W3C); empty where there is none.
  std::string span_id;
};

/// What the event says; nothing where it is no entry of a log.
[[nodiscard]] std::optional<LogEntry> read_log_entry(const nettrace::TraceHeader& trace,
                                                     const nettrace::Event& event);

/// The exception that an entry is about, as the application prints it; empty where there is none.
[[nodiscard]] std::string exception_text(const LogEntry& entry);

}  // namespace farport::events
