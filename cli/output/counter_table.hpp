// Counters as people look at them: by instrument, with values in units that they read at a glance.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/output/counter_lines.hpp"

namespace farport::cli {

/// One provider's, by instrument, then by tags: the last row of each.
using CounterTable = std::map<std::string, std::map<std::string, CounterRow>>;

/// "5.2 GiB", "25 ms", "12 %", "5,552,557": the units of OpenTelemetry and of EventCounters. A unit that is
/// no such one is left out.
[[nodiscard]] std::string value_text(double value, const std::string& unit);

/// What tells a series from the others of its instrument: "gen0" of "gc.heap.generation=gen0",
/// "route=/ status_code=200 p95" of "http.route=/,http.response.status_code=200,Percentile=95".
[[nodiscard]] std::string short_tags(std::string_view tags);

/// The table's lines: an instrument in one line, or one for each of its series below its name.
[[nodiscard]] std::vector<std::string> lines_of(const CounterTable& table, std::size_t columns);

/// The line above all tables.
[[nodiscard]] std::string counter_heading(double interval, std::size_t columns);

}  // namespace farport::cli
