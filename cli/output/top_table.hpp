// The table of `farport top`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/top_agent.hpp"

namespace farport::cli {

/// What rows are sorted by: the greatest first, names by the alphabet.
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

/// By its word: "cpu", "memory", …; nothing for any other.
[[nodiscard]] std::optional<TopOrder> top_order(std::string_view word);
/// By the key that chooses it, as htop has them where it has them; nothing for any other.
[[nodiscard]] std::optional<TopOrder> top_order_of_key(char key);

void sort_runtimes(std::vector<TopRuntime>& runtimes, TopOrder order, bool upside_down);

/// Its lines, the heading first, none wider than `columns`; 0: as wide as they are. `graphs`: whether the
/// terminal shows the characters that history is drawn with.
[[nodiscard]] std::vector<std::string> top_lines(const std::vector<TopRuntime>& runtimes, std::size_t columns,
                                                 bool graphs);

/// A line of JSON for each.
[[nodiscard]] std::string top_json(const std::vector<TopRuntime>& runtimes);

/// "12.5M": at most five characters. Powers of 1024 below kilo are as they are.
[[nodiscard]] std::string short_bytes(double bytes);
/// The newest `width` values as characters of increasing height, the greatest of all the highest;
/// spaces before them where there are fewer.
[[nodiscard]] std::string sparkline(const std::vector<double>& values, std::size_t width);

}  // namespace farport::cli
