#include "cli/output/counter_screen.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <ctime>

#include <fmt/format.h>
#include <unistd.h>

#include "base/text.hpp"
#include "cli/output/output.hpp"
#include "cli/terminal/table.hpp"

namespace farport::cli {
namespace {

using events::Measurement;

/// In dotnet-counters' form: "dotnet.gc.collections ({collection} / 1 sec)[gen=0]".
std::string full_name(const CounterRow& row, const Measurement& measurement, double interval) {
  std::string unit = row.unit;
  if (row.increase) {
    unit = fmt::format("{} / {:g} sec", unit.empty() ? "Count" : unit,
                       measurement.interval > 0 ? measurement.interval : interval);
  }
  return row.instrument + (unit.empty() ? "" : " (" + unit + ")") +
         (row.tags.empty() ? "" : "[" + row.tags + "]");
}

double shown_value(const CounterRow& row) {
  return row.increase.value_or(row.value.value_or(0));
}

class TextLines final : public CounterReader {
 public:
  using CounterReader::CounterReader;
  std::string drain_lines() override {
    std::string lines;
    for (const Measurement& each : take()) {
      for (const CounterRow& row : rows_of(each))
        lines += fmt::format("{} {} {} {}\n", clock_of(each.time), escape(each.provider),
                             escape(full_name(row, each, interval())), number_text(shown_value(row)));
    }
    return lines;
  }
};

/// A field as in RFC 4180, but without line ends: each line is one value.
std::string csv_field(const std::string& text) {
  std::string escaped = escape(text);
  if (escaped.find_first_of(",\"") == std::string::npos) return escaped;
  std::string quoted = "\"";
  for (const char c : escaped) {
    if (c == '"') quoted += c;
    quoted += c;
  }
  return quoted + "\"";
}

/// "01/31/2026 12:00:00", in dotnet-counters' form.
std::string csv_time(events::Time time) {
  const std::time_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  std::array<char, sizeof "01/31/2026 12:00:00"> text{};
  std::strftime(text.data(), text.size(), "%m/%d/%Y %H:%M:%S", &parts);
  return text.data();
}

/// CSV with dotnet-counters' columns.
class CsvLines final : public CounterReader {
 public:
  using CounterReader::CounterReader;
  std::string drain_lines() override {
    std::string lines;
    if (!std::exchange(begun_, true)) lines = "Timestamp,Provider,Counter Name,Counter Type,Mean/Increment\n";
    for (const Measurement& each : take()) {
      for (const CounterRow& row : rows_of(each))
        lines += fmt::format("{},{},{},{},{}\n", csv_time(each.time), csv_field(each.provider),
                             csv_field(full_name(row, each, interval())), row.increase ? "Rate" : "Metric",
                             number_text(shown_value(row)));
    }
    return lines;
  }

 private:
  bool begun_ = false;
};

}  // namespace

std::string number_text(double value) {
  constexpr int kDigits = 15;
  return fmt::format("{:.{}g}", value, kDigits);
}

std::vector<CounterRow> rows_of(const Measurement& measurement) {
  const std::string& name = measurement.display_name.empty() ? measurement.name : measurement.display_name;
  const std::string& tags = measurement.tags;
  CounterRow row{name, tags, measurement.unit, {}, {}};
  if (measurement.kind == Measurement::Kind::rate) {
    row.value = measurement.total;
    row.increase = measurement.value;
    return {row};
  }
  if (measurement.kind != Measurement::Kind::histogram) {
    row.value = measurement.value;
    return {row};
  }
  constexpr int kPercent = 100;
  std::vector<CounterRow> rows;
  for (const auto& [quantile, value] : measurement.quantiles) {
    row.tags = fmt::format("{}{}Percentile={:g}", tags, tags.empty() ? "" : ",", quantile * kPercent);
    row.value = value;
    rows.push_back(row);
  }
  return rows;
}

std::unique_ptr<events::MeasurementReader> make_counter_lines(const std::string& format,
                                                              router::CounterSelection& selection,
                                                              double interval) {
  if (format == "csv") return std::make_unique<CsvLines>(selection, interval);
  if (format == "json") {
    return std::make_unique<events::JsonMeasurementLines>(
        router::kMeterSession, [&selection](const Measurement& each) { return selection.takes(each); });
  }
  return std::make_unique<TextLines>(selection, interval);
}

namespace {

constexpr std::size_t kValueWidth = 13;
constexpr std::size_t kCounterIndent = 2;
constexpr std::string_view kPercentile = "Percentile=";

/// About four significant digits; all digits of a whole number.
std::string plain_number(double value) {
  constexpr double kLargest = 1e15;
  const double size = std::abs(value);
  if (!std::isfinite(value) || size >= kLargest) return fmt::format("{:.4g}", value);
  if (size >= 1000 || std::floor(value) == value) return grouped(fmt::format("{:.0f}", value));
  std::string text = fmt::format("{:.{}f}", value, size >= 100 ? 1 : size >= 10 ? 2 : 3);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

struct Step {
  double from;  ///< The smallest value shown in this unit.
  double size;
  const char* unit;
};

/// The value in the first unit whose `from` it reaches; smaller values use the last unit.
template <std::size_t Count>
std::string in_steps(double value, const std::array<Step, Count>& steps) {
  const auto* const fits = std::find_if(steps.begin(), steps.end() - 1,
                                        [&](const Step& step) { return std::abs(value) >= step.from; });
  const double scaled = value / fits->size;
  const int digits = scaled == std::floor(scaled) || std::abs(scaled) >= 100 ? 0 : 1;
  return fmt::format("{:.{}f} {}", scaled, digits, fits->unit);
}

std::string bytes_text(double bytes) {
  constexpr double kKi = 1024;
  constexpr std::array<Step, 5> kSteps{{{kKi * kKi * kKi * kKi, kKi * kKi * kKi * kKi, "TiB"},
                                        {kKi * kKi * kKi, kKi * kKi * kKi, "GiB"},
                                        {kKi * kKi, kKi * kKi, "MiB"},
                                        {kKi, kKi, "KiB"},
                                        {0, 1, "B"}}};
  return in_steps(bytes, kSteps);
}

std::string seconds_text(double seconds) {
  constexpr std::array<Step, 5> kSteps{
      {{7200, 3600, "h"}, {120, 60, "min"}, {1, 1, "s"}, {1e-3, 1e-3, "ms"}, {0, 1e-6, "µs"}}};
  return in_steps(seconds, kSteps);
}

/// Whether value_text() shows this unit.
bool is_said(std::string_view unit) {
  constexpr std::array<std::string_view, 6> kSaid{"By", "B", "MB", "s", "ms", "%"};
  // The instrument's name tells what annotations ("{collection}") say.
  return unit.starts_with('{') || std::find(kSaid.begin(), kSaid.end(), unit) != kSaid.end();
}

std::string cell(std::optional<double> value, const std::string& unit) {
  return value ? value_text(*value, unit) : "";
}

/// Columns left for a name beside two values.
std::size_t room_beside(std::size_t indent, std::size_t columns) {
  const std::size_t taken = indent + 2 * (kValueWidth + 1);
  return std::max<std::size_t>(columns - std::min(columns, taken), 1);
}

std::string line_of(const std::string& name, std::size_t indent, const std::string& value,
                    const std::string& increase, std::size_t columns) {
  const std::size_t room = room_beside(indent, columns);
  const std::string shown = cut(name, room);
  const auto right = [](const std::string& text) {
    return std::string(kValueWidth - std::min(kValueWidth, columns_of(text)), ' ') + text;
  };
  const std::string line = std::string(indent, ' ') + shown +
                           std::string(room - std::min(room, columns_of(shown)), ' ') + " " + right(value) +
                           " " + right(increase);
  return cut(line, columns);
}

std::string line_of(const std::string& name, std::size_t indent, const CounterRow& row, std::size_t columns) {
  return line_of(escape(name), indent, cell(row.value, row.unit), cell(row.increase, row.unit), columns);
}

/// "dotnet.gc.collections", with the unit unless values show it.
std::string heading_of(const std::string& instrument, const std::string& unit) {
  return instrument + (unit.empty() || is_said(unit) ? "" : " (" + unit + ")");
}

}  // namespace

std::string value_text(double value, const std::string& unit) {
  if (unit == "By" || unit == "B") return bytes_text(value);
  if (unit == "s") return seconds_text(value);
  const bool shown = unit == "MB" || unit == "ms" || unit == "%";
  return plain_number(value) + (shown ? " " + unit : "");
}

std::string short_tags(std::string_view tags) {
  struct Tag {
    std::string_view key;
    std::string value;
  };
  std::vector<Tag> found;
  std::string percentile;
  while (!tags.empty()) {
    const std::string_view part = take_until(tags, ',');
    const std::size_t equals = part.find('=');
    if (part.starts_with(kPercentile)) {
      percentile = "p" + std::string(part.substr(kPercentile.size()));
    } else if (equals == std::string_view::npos && !found.empty()) {
      // The comma is part of the previous value.
      found.back().value += "," + std::string(part);
    } else {
      const std::string_view key = part.substr(0, std::min(equals, part.size()));
      const std::size_t value = equals == std::string_view::npos ? part.size() : equals + 1;
      found.push_back({key.substr(key.rfind('.') + 1), std::string(part.substr(value))});
    }
  }
  std::string text;
  for (const Tag& tag : found) {
    if (!text.empty()) text += " ";
    text += found.size() == 1 && !tag.value.empty() ? tag.value : std::string(tag.key) + "=" + tag.value;
  }
  if (!text.empty() && !percentile.empty()) text += " ";
  return text + percentile;
}

std::vector<std::string> lines_of(const CounterTable& table, std::size_t columns) {
  std::vector<std::string> lines;
  for (const auto& [instrument, series] : table) {
    if (series.empty()) continue;
    const std::string heading = heading_of(instrument, series.begin()->second.unit);
    const bool alone = series.size() == 1 && series.begin()->first.empty();
    // A name that does not fit gets a line of its own.
    if (alone && columns_of(heading) <= room_beside(kCounterIndent, columns)) {
      lines.push_back(line_of(heading, kCounterIndent, series.begin()->second, columns));
      continue;
    }
    lines.push_back(cut(std::string(kCounterIndent, ' ') + escape(heading), columns));
    for (const auto& [tags, row] : series) {
      lines.push_back(line_of(short_tags(tags), 2 * kCounterIndent, row, columns));
    }
  }
  return lines;
}

std::string counter_heading(double interval, std::size_t columns) {
  return line_of("", kCounterIndent, "value", fmt::format("in {:g} s", interval), columns);
}

namespace {

/// Limit for hostile applications with very many series; nobody looks at so many rows.
constexpr std::size_t kMaxRows = 2000;

}  // namespace

CounterScreen::CounterScreen(double interval) : interval_(interval), region_(STDOUT_FILENO) {}

CounterScreen::~CounterScreen() {
  region_.forget();
}

void CounterScreen::take(const events::Measurement& measurement) {
  for (CounterRow& row : rows_of(measurement)) {
    const auto provider = providers_.find(measurement.provider);
    const bool known = provider != providers_.end() && provider->second.contains(row.instrument) &&
                       provider->second[row.instrument].contains(row.tags);
    if (!known && ++rows_ > kMaxRows) continue;
    providers_[measurement.provider][row.instrument].insert_or_assign(row.tags, std::move(row));
  }
}

void CounterScreen::take_key(char key) {
  const std::size_t page = std::max<std::size_t>(page_, 1);
  const auto up = [this](std::size_t lines) { first_ -= std::min(first_, lines); };
  switch (key) {
    case 'q':
      // Same as Ctrl-C.
      ::raise(SIGINT);
      return;
    case 'k':
      up(1);
      break;
    case 'j':
      ++first_;
      break;
    case 'b':
      up(page);
      break;
    case ' ':
      first_ += page;
      break;
    default:
      return;
  }
  draw();
}

void CounterScreen::draw() {
  if (!region_.in_foreground()) return;
  const TerminalSize room = region_.room();
  std::vector<std::string> all;
  for (const auto& [provider, table] : providers_) {
    all.push_back(cut(escape(provider), room.columns));
    for (std::string& line : lines_of(table, room.columns)) all.push_back(std::move(line));
  }
  std::vector<std::string> lines{counter_heading(interval_, room.columns)};
  if (all.size() + 1 <= room.rows) {
    first_ = 0;
    page_ = all.size();
    lines.insert(lines.end(), all.begin(), all.end());
  } else {
    // Leaves room for the heading above and the position below.
    page_ = room.rows > 2 ? room.rows - 2 : 1;
    first_ = std::min(first_, all.size() - page_);
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first_);
    lines.insert(lines.end(), begin, begin + static_cast<std::ptrdiff_t>(page_));
    lines.push_back(cut(fmt::format("lines {} to {} of {}: arrows and Page Down show the others, q ends",
                                    first_ + 1, first_ + page_, all.size()),
                        room.columns));
  }
  region_.draw(lines);
}

}  // namespace farport::cli
