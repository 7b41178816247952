#include "events/measurements.hpp"

#include <cmath>

#include "events/fields.hpp"
#include "events/providers.hpp"

namespace farport::events {
namespace {

using Read = std::variant<std::monostate, Measurement, MeterNotice>;

/// "0.5=12;0.95=40", as the metrics' EventSource writes quantiles.
std::vector<std::pair<double, double>> quantiles_in(std::string_view text) {
  std::vector<std::pair<double, double>> quantiles;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    const double quantile = number_in(part.substr(0, equals));
    const double value = number_in(part.substr(equals + 1));
    if (!std::isnan(quantile) && !std::isnan(value)) quantiles.emplace_back(quantile, value);
  }
  return quantiles;
}

std::optional<double> known(double number) {
  return std::isnan(number) ? std::nullopt : std::optional(number);
}

/// Fills in what its kind has; false where the event has no value: the interval was the instrument's first.
bool take_value(const Fields& fields, std::string_view event, Measurement& made) {
  if (event == "CounterRateValuePublished") {
    made.kind = Measurement::Kind::rate;
    made.value = fields.number("rate");
    made.total = known(fields.number("value"));
  } else if (event == "UpDownCounterRateValuePublished") {
    made.kind = Measurement::Kind::up_down;
    made.value = fields.number("value");
  } else if (event == "GaugeValuePublished") {
    made.value = fields.number("lastValue");
  } else {
    made.kind = Measurement::Kind::histogram;
    made.quantiles = quantiles_in(fields.text("quantiles"));
    made.value = made.quantiles.empty() ? 0 : fields.number("count");
    made.sum = known(fields.number("sum"));
  }
  return !std::isnan(made.value);
}

Read notice_of(const Fields& fields, std::string_view event) {
  if (event == "TimeSeriesLimitReached")
    return MeterNotice{"there are more series of values than asked for: some are left out"};
  if (event == "HistogramLimitReached")
    return MeterNotice{"there are more histograms than asked for: some are left out"};
  if (event == "ObservableInstrumentCallbackError")
    return MeterNotice{"an instrument of the application fails: " + fields.text("errorMessage")};
  if (event == "Error") return MeterNotice{"the runtime says: " + fields.text("errorMessage"), true};
  if (event == "MultipleSessionsNotSupportedError")
    return MeterNotice{"another tool is reading the application's meters, and this runtime serves one", true};
  if (event == "MultipleSessionsConfiguredIncorrectlyError") {
    return MeterNotice{"another tool is reading the application's meters, every " +
                           fields.text("expectedRefreshInterval") + " s with at most " +
                           fields.text("expectedMaxTimeSeries") + " series and " +
                           fields.text("expectedMaxHistograms") + " histograms: ask for the same",
                       true};
  }
  return {};
}

Read read_meter(const nettrace::TraceHeader& trace, const nettrace::Event& event, std::string_view session) {
  const std::string_view name = event.definition.name;
  const Fields fields(event);
  // The session that another one stands in the way of is not named.
  const std::string of = fields.text("sessionId");
  if (!of.empty() && of != session) return {};
  if (!name.ends_with("ValuePublished")) return notice_of(fields, name);
  Measurement made;
  made.time = time_of(trace, event);
  made.is_meter = true;
  made.provider = fields.text("meterName");
  made.name = fields.text("instrumentName");
  made.unit = fields.text("unit");
  made.tags = fields.text("tags");
  if (!take_value(fields, name, made)) return {};
  return made;
}

/// In seconds: as it was asked for ("Interval=1000", in milliseconds), since series are named by it, and what
/// was measured is never twice the same.
double interval_of(const Fields& values) {
  constexpr std::string_view kAskedFor = "Interval=";
  constexpr double kMilliseconds = 1000;
  const std::string series = values.text("Series");
  const double asked =
      series.starts_with(kAskedFor) ? number_in(std::string_view(series).substr(kAskedFor.size())) : NAN;
  return asked > 0 ? asked / kMilliseconds : values.number("IntervalSec");
}

Read read_event_counter(const nettrace::TraceHeader& trace, const nettrace::Event& event) {
  // A structure without a name, in which there is one of this name.
  const Fields fields(event);
  const nettrace::Structure* const outer = fields.structure("");
  if (outer == nullptr) return {};
  const Fields inner(*outer);
  const nettrace::Structure* const payload = inner.structure("Payload");
  if (payload == nullptr) return {};
  const Fields values(*payload);
  Measurement made;
  made.time = time_of(trace, event);
  made.provider = event.definition.provider;
  made.name = values.text("Name");
  made.display_name = values.text("DisplayName");
  made.unit = values.text("DisplayUnits");
  made.tags = values.text("Metadata");
  made.interval = interval_of(values);
  made.kind = values.has("Increment") ? Measurement::Kind::rate : Measurement::Kind::gauge;
  made.value = values.number(values.has("Increment") ? "Increment" : "Mean");
  if (std::isnan(made.value) || std::isnan(made.interval)) return {};
  return made;
}

}  // namespace

Read read_measurement(const nettrace::TraceHeader& trace, const nettrace::Event& event,
                      std::string_view session) {
  if (event.definition.provider == kMetricsProvider) return read_meter(trace, event, session);
  if (event.definition.name == "EventCounters") return read_event_counter(trace, event);
  return {};
}

std::string_view to_string(Measurement::Kind kind) {
  switch (kind) {
    case Measurement::Kind::gauge:
      return "gauge";
    case Measurement::Kind::rate:
      return "rate";
    case Measurement::Kind::up_down:
      return "up-down";
    case Measurement::Kind::histogram:
      break;
  }
  return "histogram";
}

}  // namespace farport::events
