// Counters as lines: for people, as CSV and as JSON.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "events/lines.hpp"
#include "router/wanted/counters.hpp"

namespace farport::cli {

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

}  // namespace farport::cli
