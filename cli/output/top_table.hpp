// The table of `farport top`, as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/top_agent.hpp"

namespace farport::cli {

/// How rows are sorted: by value, highest first, or by name.
enum class TopOrder : std::uint8_t {
  cpu,
  memory,
  heap,
  allocated,
  gc_pause,
  exceptions,
  queue,
  requests,
  name
};

/// The order for a word such as "cpu" or "memory"; empty for any other word.
[[nodiscard]] std::optional<TopOrder> top_order(std::string_view word);
/// The order for a key, as in htop where possible; empty for any other key.
[[nodiscard]] std::optional<TopOrder> top_order_of_key(char key);

void sort_runtimes(std::vector<TopRuntime>& runtimes, TopOrder order, bool upside_down);

/// The table's lines, the heading first, none wider than `columns`; 0: no limit. `graphs`: whether the
/// terminal can show the characters of sparklines.
[[nodiscard]] std::vector<std::string> top_lines(const std::vector<TopRuntime>& runtimes, std::size_t columns,
                                                 bool graphs);

/// A line of JSON for each runtime.
[[nodiscard]] std::string top_json(const std::vector<TopRuntime>& runtimes);

/// "12.5M", at most five characters. Values below 1024 have no prefix.
[[nodiscard]] std::string short_bytes(double bytes);
/// The newest `width` values as characters of increasing height, scaled to the largest of all values. Fewer
/// values are padded with spaces in front.
[[nodiscard]] std::string sparkline(const std::vector<double>& values, std::size_t width);

}  // namespace farport::cli
