// When an event was written, by the clock on the wall.
#pragma once

#include <chrono>
#include <string>

#include "nettrace/event.hpp"
#include "nettrace/trace_header.hpp"

namespace farport::events {

using Time = std::chrono::sys_time<std::chrono::microseconds>;

[[nodiscard]] inline Time time_of(const nettrace::TraceHeader& trace, const nettrace::Event& event) {
  constexpr std::int64_t kUnitsPerMicrosecond = 10;
  return Time(std::chrono::microseconds(trace.time_of(event.timestamp) / kUnitsPerMicrosecond));
}

/// "2026-03-01T12:00:00.123456Z" (RFC 3339), in UTC.
[[nodiscard]] std::string to_string(Time time);

}  // namespace farport::events
