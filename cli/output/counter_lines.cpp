#include "cli/output/counter_lines.hpp"

#include <algorithm>
#include <array>
#include <ctime>

#include <fmt/format.h>

#include "cli/output/event_lines.hpp"
#include "cli/terminal/text.hpp"

namespace farport::cli {
namespace {

using events::Measurement;

/// As dotnet-counters writes it: "dotnet.gc.collections ({collection} / 1 sec)[gen=0]".
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
  std::string take_lines() override {
    std::string lines;
    for (const Measurement& each : take()) {
      for (const CounterRow& row : rows_of(each))
        lines += fmt::format("{} {} {} {}\n", clock_of(each.time), escape(each.provider),
                             escape(full_name(row, each, interval())), number_text(shown_value(row)));
    }
    return lines;
  }
};

/// A field as RFC 4180 has it. No line ends within: a line is a value.
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

/// "01/31/2026 12:00:00", as dotnet-counters writes it.
std::string csv_time(events::Time time) {
  const std::time_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  std::array<char, sizeof "01/31/2026 12:00:00"> text{};
  std::strftime(text.data(), text.size(), "%m/%d/%Y %H:%M:%S", &parts);
  return text.data();
}

/// The columns of dotnet-counters.
class CsvLines final : public CounterReader {
 public:
  using CounterReader::CounterReader;
  std::string take_lines() override {
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

}  // namespace farport::cli
