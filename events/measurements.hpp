// Values of an application's counters: of its EventCounters, and of its meters (System.Diagnostics.Metrics).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "events/event_time.hpp"

namespace farport::events {

struct Measurement {
  enum class Kind : std::uint8_t {
    gauge,      ///< A value as it is. An EventCounter's is the mean of the interval.
    rate,       ///< How much it has grown in the interval.
    up_down,    ///< A sum that grows and shrinks, as it is.
    histogram,  ///< How values of the interval are spread.
  };

  Time time;
  bool is_meter = false;  ///< Of a meter, not of an EventSource.
  std::string provider;   ///< The meter's or the EventSource's name.
  std::string name;
  std::string display_name;  ///< For people; empty where it has none.
  std::string unit;
  std::string tags;  ///< "http.route=/,http.response.status_code=200"; empty where it has none.
  Kind kind = Kind::gauge;
  double value = 0;             ///< Of a histogram: how many values there were.
  std::optional<double> total;  ///< Of a rate: since the instrument began, where it is said.
  std::optional<double> sum;    ///< Of a histogram's values.
  std::vector<std::pair<double, double>> quantiles;  ///< "0.5" and its value, and so on.
  double interval = 0;                               ///< In seconds; 0 where it is not said.
};

/// What the runtime has to say of the session instead of values.
struct MeterNotice {
  std::string text;    ///< For people.
  bool fatal = false;  ///< No values will come.
};

/// What the event says; monostate where it is about something else, or about another session.
[[nodiscard]] std::variant<std::monostate, Measurement, MeterNotice> read_measurement(
    const nettrace::TraceHeader& trace, const nettrace::Event& event, std::string_view session);

[[nodiscard]] std::string_view to_string(Measurement::Kind kind);

}  // namespace farport::events
