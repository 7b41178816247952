#include "events/measurements.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "events/fields.hpp"
#include "events/providers.hpp"

namespace farport::events {
namespace {

using Read = std::variant<std::monostate, Measurement, MeterNotice>;

/// Parses "0.5=12;0.95=40", the form in which the metrics' EventSource writes quantiles.
std::vector<std::pair<double, double>> quantiles_in(std::string_view text) {
  std::vector<std::pair<double, double>> quantiles;
  while (!text.empty()) {
    std::string_view part = take_until(text, ';');
    const double quantile = number_or_nan(take_until(part, '='));
    const double value = number_or_nan(part);
    if (!std::isnan(quantile) && !std::isnan(value)) quantiles.emplace_back(quantile, value);
  }
  return quantiles;
}

std::optional<double> known(double number) {
  return std::isnan(number) ? std::nullopt : std::optional(number);
}

/// Fills in the fields of its kind. Returns false if the event has no value, as in an instrument's first
/// interval.
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
  // A notice that another session is in the way names no session.
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

/// In seconds: the requested interval ("Interval=1000", in milliseconds), since it identifies the series,
/// while the measured one always differs.
double interval_of(const Fields& values) {
  constexpr std::string_view kAskedFor = "Interval=";
  constexpr double kMilliseconds = 1000;
  const std::string series = values.text("Series");
  const double asked =
      series.starts_with(kAskedFor) ? number_or_nan(std::string_view(series).substr(kAskedFor.size())) : NAN;
  return asked > 0 ? asked / kMilliseconds : values.number("IntervalSec");
}

Read read_event_counter(const nettrace::TraceHeader& trace, const nettrace::Event& event) {
  // The payload is nested in a structure without a name.
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

namespace {

constexpr double kPercent = 100;
constexpr double kMegabyte = 1'000'000;
constexpr const char* kRequests = "http.server.request.duration";
constexpr const char* kHeapSize = "dotnet.gc.last_collection.heap.size";
constexpr std::string_view kGenerationTag = "gc.heap.generation=";

std::optional<double> scaled(std::optional<double> value, double by) {
  if (value) *value *= by;
  return value;
}

/// The first value that is set.
std::optional<double> either(std::optional<double> first, std::optional<double> second) {
  return first ? first : second;
}

}  // namespace

void VitalsReader::take(const Measurement& measurement) {
  std::pair<std::string, std::string> key{measurement.name, measurement.tags};
  const auto known = last_.find(key);
  if (known != last_.end()) {
    known->second = measurement;
  } else if (last_.size() < kMaxVitalMeasurements) {
    last_.emplace(std::move(key), measurement);
  }
}

std::optional<double> VitalsReader::sum(const char* name, const char* tag) const {
  std::optional<double> all;
  for (auto each = last_.lower_bound({name, ""}); each != last_.end() && each->first.first == name; ++each) {
    if (each->first.second.find(tag) == std::string::npos) continue;
    const Measurement& measurement = each->second;
    // Thread pool sizes are reported as sums that grow and shrink: use the current total.
    const bool is_size = std::string_view(name).starts_with("dotnet.thread_pool.");
    all = all.value_or(0) + (is_size ? measurement.total.value_or(measurement.value) : measurement.value);
  }
  return all;
}

std::optional<double> VitalsReader::rate(const char* name) const {
  return scaled(sum(name), 1 / interval_);
}

Vitals VitalsReader::vitals() const {
  Vitals vitals;
  add_meters(vitals);
  add_counters(vitals);
  return vitals;
}

void VitalsReader::add_meters(Vitals& vitals) const {
  vitals.cpu = scaled(rate("dotnet.process.cpu.time"), kPercent);
  vitals.working_set = sum("dotnet.process.memory.working_set");
  vitals.heap = sum(kHeapSize);
  vitals.allocated = rate("dotnet.gc.heap.total_allocated");
  vitals.gc_pause = scaled(rate("dotnet.gc.pause.time"), kPercent);
  vitals.exceptions = rate("dotnet.exceptions");
  vitals.threads = sum("dotnet.thread_pool.thread.count");
  vitals.queued = sum("dotnet.thread_pool.queue.length");
  vitals.requests = rate(kRequests);
  for (const auto& [key, measurement] : last_) {
    const auto& [name, tags] = key;
    if (name == kHeapSize && tags.starts_with(kGenerationTag))
      vitals.generations[tags.substr(kGenerationTag.size())] = measurement.value;
    if (name != kRequests || measurement.quantiles.empty()) continue;
    // Percentiles of routes can't be combined, so take the slowest route's.
    vitals.slow_request = std::max(vitals.slow_request.value_or(0), measurement.quantiles.back().second);
  }
}

void VitalsReader::add_counters(Vitals& vitals) const {
  if (knows_processors()) vitals.cpu = either(vitals.cpu, scaled(sum("cpu-usage"), processors_));
  vitals.working_set = either(vitals.working_set, scaled(sum("working-set"), kMegabyte));
  vitals.heap = either(vitals.heap, scaled(sum("gc-heap-size"), kMegabyte));
  vitals.allocated = either(vitals.allocated, rate("alloc-rate"));
  vitals.gc_pause = either(vitals.gc_pause, sum("time-in-gc"));
  vitals.exceptions = either(vitals.exceptions, rate("exception-count"));
  vitals.threads = either(vitals.threads, sum("threadpool-thread-count"));
  vitals.queued = either(vitals.queued, sum("threadpool-queue-length"));
  vitals.requests = either(vitals.requests, rate("requests-per-second"));
  if (!vitals.generations.empty()) return;
  for (const auto& [counter, generation] :
       {std::pair{"gen-0-size", "gen0"}, std::pair{"gen-1-size", "gen1"}, std::pair{"gen-2-size", "gen2"},
        std::pair{"loh-size", "loh"}, std::pair{"poh-size", "poh"}}) {
    if (const auto size = sum(counter)) vitals.generations[generation] = *size;
  }
}

}  // namespace farport::events
