// CounterScreen: counters on a terminal, in a table that is redrawn in place; and counters as lines.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/live_region.hpp"
#include "events/lines.hpp"
#include "router/recordings/counters.hpp"

namespace farport::cli {

/// A value for people, with at most 15 digits.
[[nodiscard]] std::string number_text(double value);

/// A row of a counter table. A histogram's measurement has one row for each quantile.
struct CounterRow {
  std::string instrument;
  std::string tags;  ///< "http.route=/,Percentile=50"; may be empty.
  std::string unit;
  std::optional<double> value;     ///< Empty if only the increase is known.
  std::optional<double> increase;  ///< Within the interval, for values that only grow.
};
[[nodiscard]] std::vector<CounterRow> rows_of(const events::Measurement& measurement);

/// Collects the selected counters.
class CounterReader : public events::MeasurementReader {
 public:
  /// `selection` must outlive this. `interval`: in seconds.
  CounterReader(router::CounterSelection& selection, double interval)
      : MeasurementReader(router::kMeterSession,
                          [&selection](const events::Measurement& each) { return selection.takes(each); }),
        interval_(interval) {}

 protected:
  [[nodiscard]] double interval() const { return interval_; }

 private:
  double interval_;
};

/// Formats measurements as lines. `format`: text, csv or json.
[[nodiscard]] std::unique_ptr<events::MeasurementReader> make_counter_lines(
    const std::string& format, router::CounterSelection& selection, double interval);

/// One provider's latest rows, by instrument and then by tags.
using CounterTable = std::map<std::string, std::map<std::string, CounterRow>>;

/// "5.2 GiB", "25 ms", "12 %", "5,552,557": scales the units of OpenTelemetry and EventCounters for reading.
/// Unknown units are left out.
[[nodiscard]] std::string value_text(double value, const std::string& unit);

/// The part of the tags that identifies a series within its instrument: "gen0" for "gc.heap.generation=gen0",
/// "route=/ status_code=200 p95" for "http.route=/,http.response.status_code=200,Percentile=95".
[[nodiscard]] std::string short_tags(std::string_view tags);

/// The table's lines: one for an instrument with a single value, otherwise its name and one for each series.
[[nodiscard]] std::vector<std::string> lines_of(const CounterTable& table, std::size_t columns);

/// The line above all tables.
[[nodiscard]] std::string counter_heading(double interval, std::size_t columns);

class CounterScreen {
 public:
  /// Standard output must be a terminal that can_draw_on() accepts. Make it before signals are watched (see
  /// LiveRegion). `interval`: in seconds.
  explicit CounterScreen(double interval);
  ~CounterScreen();
  CounterScreen(const CounterScreen&) = delete;
  CounterScreen& operator=(const CounterScreen&) = delete;

  /// Records a value, without drawing.
  void take(const events::Measurement& measurement);
  void draw();
  /// Handles a key from TerminalKeys, such as for scrolling.
  void take_key(char key);

 private:
  double interval_;
  std::map<std::string, CounterTable> providers_;
  std::size_t rows_ = 0;   ///< In all tables.
  std::size_t first_ = 0;  ///< Index of the first line shown.
  std::size_t page_ = 1;   ///< Number of lines shown.
  LiveRegion region_;
};

}  // namespace farport::cli
