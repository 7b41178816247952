// Counters on a terminal, in a table that is drawn anew.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/live_region.hpp"
#include "events/lines.hpp"
#include "router/wanted/counters.hpp"

namespace farport::cli {

// Counters as lines: for people, as CSV and as JSON.

/// A value as people read it, in at most 15 digits.
[[nodiscard]] std::string number_text(double value);

/// A measurement as rows of a table: a histogram has one for each quantile.
struct CounterRow {
  std::string instrument;
  std::string tags;  ///< "http.route=/,Percentile=50"; empty where it has none.
  std::string unit;
  std::optional<double> value;     ///< Nothing where only its growth is known.
  std::optional<double> increase;  ///< In the interval. Of what only grows.
};
[[nodiscard]] std::vector<CounterRow> rows_of(const events::Measurement& measurement);

/// Collects the counters that are wanted.
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

/// `format`: text, csv or json.
[[nodiscard]] std::unique_ptr<events::MeasurementReader> make_counter_lines(
    const std::string& format, router::CounterSelection& selection, double interval);

// Counters as people look at them: by instrument, with values in units that they read at a glance.

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

class CounterScreen {
 public:
  /// Made before signals are watched (LiveRegion). Standard output is a terminal that can be drawn on.
  /// `interval`: in seconds.
  explicit CounterScreen(double interval);
  ~CounterScreen();
  CounterScreen(const CounterScreen&) = delete;
  CounterScreen& operator=(const CounterScreen&) = delete;

  /// Takes a value. Does not draw it.
  void take(const events::Measurement& measurement);
  void draw();
  /// Scrolls: a key as TerminalKeys has it.
  void take_key(char key);

 private:
  double interval_;
  std::map<std::string, CounterTable> providers_;
  std::size_t rows_ = 0;   ///< In all tables.
  std::size_t first_ = 0;  ///< Of the lines, the first that is shown.
  std::size_t page_ = 1;   ///< So many are shown.
  LiveRegion region_;
};

}  // namespace farport::cli
