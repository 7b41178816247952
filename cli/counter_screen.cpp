#include "cli/counter_screen.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/text.hpp"

namespace farport::cli {
namespace {

/// A hostile application may name as many as it likes; a screen shows fewer.
constexpr std::size_t kMostRows = 2000;
constexpr std::size_t kValueWidth = 16;
constexpr std::size_t kRowIndent = 2;

std::string optional_number(std::optional<double> value) {
  constexpr int kDigits = 12;
  return value ? fmt::format("{:.{}g}", *value, kDigits) : "";
}

/// The name at the left, cut where it doesn't fit; what it grows by and its value at the right.
std::string line_of(const std::string& name, const std::string& value, const std::string& increase,
                    std::size_t columns) {
  constexpr std::size_t kTaken = kRowIndent + 2 * (kValueWidth + 1);
  const std::size_t room = std::max<std::size_t>(columns - std::min(columns, kTaken), 1);
  const std::string shown = cut(name, room);
  const std::size_t gap = room - std::min(room, columns_of(shown));
  const std::string line = fmt::format("{:{}}{}{:{}} {:>{}} {:>{}}", "", kRowIndent, shown, "", gap, value,
                                       kValueWidth, increase, kValueWidth);
  return cut(line, columns);
}

std::string line_of(const CounterRow& row, std::size_t columns) {
  const std::string unit = row.unit.empty() ? "" : " (" + row.unit + ")";
  return line_of(escape(row.name + unit), optional_number(row.value), optional_number(row.increase), columns);
}

}  // namespace

CounterScreen::CounterScreen(router::CounterSelection& selection, double interval)
    : CounterReader(selection, interval), region_(STDOUT_FILENO) {}

CounterScreen::~CounterScreen() {
  region_.forget();
}

std::string CounterScreen::take_lines() {
  const auto measurements = take();
  if (measurements.empty()) return {};
  std::size_t rows = 0;
  for (const auto& [provider, values] : values_) rows += values.size();
  for (const events::Measurement& each : measurements) {
    for (const CounterRow& row : rows_of(each)) {
      auto& values = values_[each.provider];
      if (rows < kMostRows || values.contains(row.name)) values.insert_or_assign(row.name, row);
    }
  }
  draw();
  return {};
}

void CounterScreen::draw() {
  if (!region_.in_foreground()) return;
  const TerminalSize room = region_.room();
  std::vector<std::string> lines;
  lines.push_back(line_of("", "value", fmt::format("in {:g} s", interval()), room.columns));
  for (const auto& [provider, values] : values_) {
    lines.push_back(cut(escape(provider), room.columns));
    for (const auto& [name, row] : values) lines.push_back(line_of(row, room.columns));
  }
  if (lines.size() > room.rows) {
    const std::size_t hidden = lines.size() - room.rows + 1;
    lines.resize(room.rows - std::min<std::size_t>(room.rows, 1));
    lines.push_back(
        cut(fmt::format("… {} more: name the counters that matter, or use --format", hidden), room.columns));
  }
  region_.draw(lines);
}

}  // namespace farport::cli
