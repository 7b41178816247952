#include "events/measurements.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "events/fields.hpp"
#include "events/providers.hpp"

namespace farport::events {
namespace {

using Read = MeasurementDecoder::Read;

/// An application may make any number of instruments. Further ones have no more tags than their values.
constexpr std::size_t kMaxInstruments = 4096;

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

std::optional<Measurement> read_event_counter(const nettrace::TraceHeader& trace,
                                              const nettrace::Event& event) {
  // The payload is nested in a structure without a name.
  const Fields fields(event);
  const nettrace::Structure* const outer = fields.structure("");
  if (outer == nullptr) return std::nullopt;
  const Fields inner(*outer);
  const nettrace::Structure* const payload = inner.structure("Payload");
  if (payload == nullptr) return std::nullopt;
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
  if (std::isnan(made.value) || std::isnan(made.interval)) return std::nullopt;
  return made;
}

/// Two lists of tags as one.
std::string joined(const std::string& first, const std::string& second) {
  return first + (first.empty() || second.empty() ? "" : ",") + second;
}

/// Adds the tags whose names are new.
void add_labels(Tags& to, const Tags& more) {
  for (const auto& tag : more) {
    const bool is_there = std::ranges::any_of(to, [&](const auto& each) { return each.first == tag.first; });
    if (!is_there) to.push_back(tag);
  }
}

}  // namespace

Read MeasurementDecoder::read(const nettrace::TraceHeader& trace, const nettrace::Event& event) {
  if (event.definition.provider == kMetricsProvider) return read_meter(trace, event);
  if (event.definition.name != "EventCounters") return {};
  auto made = read_event_counter(trace, event);
  if (!made) return {};
  made->labels = tags_of(*made).read(made->tags);
  return std::move(*made);
}

Read MeasurementDecoder::read_meter(const nettrace::TraceHeader& trace, const nettrace::Event& event) {
  const std::string_view name = event.definition.name;
  const Fields fields(event);
  // A notice that another session is in the way names no session.
  const std::string of = fields.text("sessionId");
  if (!of.empty() && of != session_) return {};
  if (name == "BeginInstrumentReporting") return announce(fields);
  if (name == "EndInstrumentReporting") {
    forget(fields);
    return {};
  }
  if (!name.ends_with("ValuePublished")) return notice_of(fields, name);
  Measurement made;
  made.time = time_of(trace, event);
  made.is_meter = true;
  made.provider = fields.text("meterName");
  made.name = fields.text("instrumentName");
  made.unit = fields.text("unit");
  made.tags = fields.text("tags");
  if (!take_value(fields, name, made)) return {};
  add_tags(made, fields);
  return made;
}

MeasurementDecoder::Instrument MeasurementDecoder::described(const Fields& fields) {
  const std::string own = fields.text("instrumentTags");
  const std::string of_meter = fields.text("meterTags");
  Instrument made{fields.text("meterVersion"), fields.text("meterScopeHash"), joined(own, of_meter), {}, {}};
  for (const std::string* const text : {&own, &of_meter}) add_labels(made.labels, TagReader('=').read(*text));
  return made;
}

/// Keeps what the runtime says of an instrument, since its values say no more than its number (.NET 9). It
/// says it again when another tool joins.
Read MeasurementDecoder::announce(const Fields& fields) {
  const Name name(fields.text("meterName"), fields.text("instrumentName"));
  const bool is_numbered = fields.has("instrumentId");
  Instrument made = described(fields);
  if (announced_.size() >= kMaxInstruments) return {};
  std::vector<std::int64_t>& known = numbers_[name];
  const bool is_known =
      is_numbered
          ? announced_.contains(fields.integer("instrumentId"))
          : std::ranges::any_of(known, [&](std::int64_t each) { return announced_.at(each).is_like(made); });
  if (is_known) return {};
  mark(made, known);
  const std::int64_t number = is_numbered ? fields.integer("instrumentId") : --unnumbered_;
  known.push_back(number);
  announced_.emplace(number, std::move(made));
  if (is_numbered || known.size() != 2) return {};
  return MeterNotice{"the application has several meters called " + name.first +
                     " with an instrument called " + name.second +
                     ", and runtimes before .NET 9 do not say which one a value is of"};
}

/// Chooses a mark where one is there with the same tags.
void MeasurementDecoder::mark(Instrument& made, const std::vector<std::int64_t>& known) const {
  std::vector<std::string> taken;
  bool same_version = made.version.empty();
  for (const std::int64_t each : known) {
    const Instrument& other = announced_.at(each);
    if (other.tags != made.tags) continue;
    taken.push_back(other.mark);
    same_version = same_version || other.version == made.version;
  }
  const auto is_free = [&](const std::string& mark) { return std::ranges::find(taken, mark) == taken.end(); };
  if (is_free("")) return;
  std::pair<std::string, std::string> tag("meter.version", made.version);
  for (int number = 2; same_version || !is_free(tag.first + "=" + tag.second); ++number) {
    tag = {"meter.number", std::to_string(number)};
    same_version = false;
  }
  made.mark = tag.first + "=" + tag.second;
  add_labels(made.labels, {tag});
}

/// Forgets one that is gone, so that its mark is free.
void MeasurementDecoder::forget(const Fields& fields) {
  const auto known = numbers_.find({fields.text("meterName"), fields.text("instrumentName")});
  if (known == numbers_.end()) return;
  const Instrument gone = described(fields);
  const bool is_numbered = fields.has("instrumentId");
  const std::int64_t number = fields.integer("instrumentId");
  std::erase_if(known->second, [&](std::int64_t each) {
    const bool is_it = is_numbered ? each == number : announced_.at(each).is_like(gone);
    if (is_it) announced_.erase(each);
    return is_it;
  });
  if (known->second.empty()) numbers_.erase(known);
}

TagReader& MeasurementDecoder::tags_of(const Measurement& measurement) {
  const Name name(measurement.provider, measurement.name);
  const auto known = tags_.find(name);
  if (known != tags_.end()) return known->second;
  if (tags_.size() >= kMaxInstruments) tags_.clear();
  return tags_.emplace(name, TagReader(measurement.is_meter ? '=' : ':')).first->second;
}

void MeasurementDecoder::add_tags(Measurement& made, const Fields& fields) {
  made.labels = tags_of(made).read(made.tags);
  const Instrument* instrument = nullptr;
  if (fields.has("instrumentId")) {
    const auto known = announced_.find(fields.integer("instrumentId"));
    if (known != announced_.end()) instrument = &known->second;
  } else {
    // Where there is one of this name, it needs no number.
    const auto same_name = numbers_.find({made.provider, made.name});
    if (same_name != numbers_.end() && same_name->second.size() == 1)
      instrument = &announced_.at(same_name->second.front());
  }
  if (instrument == nullptr) return;
  made.tags = joined(joined(made.tags, instrument->tags), instrument->mark);
  add_labels(made.labels, instrument->labels);
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
