#include "router/agent/app_metrics/app_metrics.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/escape.hpp"
#include "router/agent/metrics/metrics.hpp"
#include "router/readers/reader_frames.hpp"

namespace farport::router {

void MetricTable::take(const events::Measurement& measurement, Clock::time_point now) {
  const Key key(measurement.provider, measurement.name, measurement.tags);
  auto place = series_.find(key);
  if (place == series_.end()) {
    if (series_.size() >= most_) remove_stale(now);
    if (series_.size() >= most_) return;
    place = series_.try_emplace(key).first;
  }
  MetricSeries& series = place->second;
  series.count = measurement.total.value_or(series.count + measurement.value);
  series.sum += measurement.sum.value_or(0);
  series.last = measurement;
  // The key has them.
  series.last.tags.clear();
  series.heard = now;
}

void MetricTable::remove_stale(Clock::time_point now) {
  std::erase_if(series_, [now](const auto& each) { return now - each.second.heard > kStale; });
}

namespace {

using MeasurementKind = events::Measurement::Kind;

const char* type_of(MeasurementKind kind) {
  switch (kind) {
    case MeasurementKind::rate:
      return kCounter;
    case MeasurementKind::histogram:
      return kSummary;
    case MeasurementKind::gauge:
    case MeasurementKind::up_down:
      break;
  }
  return kGauge;
}

/// What an application's tags may be called as well. Prometheus itself calls those of its targets so.
constexpr const char* kForeign = "exported_";
constexpr std::array<std::string_view, 9> kOwnLabels{"id",        "runtime", "pid",      "host",  "pod",
                                                     "container", "meter",   "quantile", "series"};

/// The names of the labels for an application's tags, with their values. Where two names become one, it has
/// both values (OpenTelemetry's specification of metrics for Prometheus).
std::map<std::string, std::string> labels_of_tags(const events::Tags& tags) {
  std::map<std::string, std::string> labels;
  for (const auto& [tag, value] : tags) {
    std::string name = metric_name(tag);
    // Those that begin so are Prometheus' own.
    const bool is_foreign = name.starts_with("__");
    if (is_foreign || std::ranges::find(kOwnLabels, name) != kOwnLabels.end()) name.insert(0, kForeign);
    const auto [place, is_new] = labels.emplace(name, value);
    if (!is_new) place->second += ";" + value;
  }
  return labels;
}

std::string labels_of(const Runtime& runtime, const events::Measurement& measurement) {
  std::string text;
  const auto add = [&text](std::string_view name, std::string_view value) {
    if (!value.empty()) text += (text.empty() ? "" : ",") + MetricsText::label(name, value);
  };
  add("id", runtime.id);
  add("runtime", runtime.name);
  add("pid", std::to_string(runtime.pid));
  add("host", runtime.host);
  add("pod", runtime.container.pod);
  add("container", runtime.container.name);
  add("meter", measurement.provider);
  for (const auto& [name, value] : labels_of_tags(measurement.labels)) add(name, value);
  return text;
}

}  // namespace

std::string metric_name(std::string_view text) {
  std::string name;
  for (const char c : text) name += is_letter_or_digit(c) ? c : '_';
  if (name.empty() || all_digits(name.substr(0, 1))) name.insert(0, 1, '_');
  return name;
}

void MetricFamilies::add(const Runtime& runtime, const MetricSeries& series) {
  const events::Measurement& last = series.last;
  const bool grows = last.kind == MeasurementKind::rate;
  const Key key(metric_name(last.name) + (grows ? "_total" : ""), type_of(last.kind));
  Family& family = families_.try_emplace(key, Family{last.unit, {}}).first->second;
  std::string labels = labels_of(runtime, last);
  // Prometheus drops all but one of the same labels: of a.b and a_b, or of a tag without a value and none.
  const std::size_t alike = ++family.series[labels];
  if (alike > 1) labels += "," + MetricsText::label("series", std::to_string(alike));
  if (last.kind != MeasurementKind::histogram) {
    family.samples.push_back({"", std::move(labels), grows ? series.count : last.value});
    return;
  }
  for (const auto& [quantile, value] : last.quantiles)
    family.samples.push_back(
        {"", labels + "," + MetricsText::label("quantile", fmt::format("{}", quantile)), value});
  family.samples.push_back({"_sum", labels, series.sum});
  family.samples.push_back({"_count", labels, series.count});
}

std::string MetricFamilies::text() const {
  MetricsText text;
  for (const auto& [key, family] : families_) {
    const auto& [name, type] = key;
    const std::string unit = family.unit.empty() ? "" : ", in " + escape(family.unit);
    // A name has one type.
    const bool is_taken =
        type == kGauge && (families_.contains({name, kSummary}) || families_.contains({name, kCounter}));
    text.family(is_taken ? name + "_gauge" : name, type, "Told by applications" + unit + ".");
    for (const Sample& sample : family.samples) text.sample(sample.value, sample.labels, sample.suffix);
  }
  return text.take();
}

MetricSession::MetricSession(transport::Loop& loop, Registry& registry, MemoryGroups& groups, Readers readers,
                             const Log& log, const AppMetricsSettings& settings,
                             const OwnReadingSettings& reading, const OnMeasurement& on_measurement,
                             Runtime runtime)
    : on_measurement_(on_measurement),
      shown_(settings.shown),
      table_(settings.limits.most_series),
      reading_(
          loop, registry, groups, std::move(readers), log, reading, std::move(runtime),
          [this](Reading::Frame frame) { return take(frame); }, [this] { table_.clear(); }) {}

Result<void> MetricSession::take(const Reading::Frame& frame) {
  if (frame.kind != ReaderFrame::measurement) return {};
  const auto measurement = decode_measurement(frame.text);
  if (!measurement) return fail("read", "a measurement", "its reader process sent malformed data");
  if (on_measurement_) on_measurement_(reading_.runtime(), *measurement);
  if (shown_ && shown_->takes(*measurement)) table_.take(*measurement, MetricTable::Clock::now());
  return {};
}

namespace {

constexpr transport::Milliseconds kStopLimit = MeterClaims::kMaxHold + transport::Milliseconds(1000);
/// Further runtimes are left out. What is kept of each is bounded, and so the total is.
constexpr std::size_t kMaxRuntimes = 100;

}  // namespace

AppMetrics::AppMetrics(transport::Loop& loop, Registry& registry, MemoryGroups& groups, MeterClaims& meters,
                       Readers readers, Log log, AppMetricsSettings settings, OnMeasurement on_measurement)
    : log_(std::move(log)),
      settings_(std::move(settings)),
      on_measurement_(std::move(on_measurement)),
      reading_{"the counters",
               "--app-metrics",
               ReadingTask::Kind::metrics,
               settings_.names,
               &meters,
               [this](const Runtime& runtime) {
                 return settings_.counters.wanted(runtime.version, settings_.limits);
               }},
      kept_(loop, registry, log_, kMaxRuntimes, "the applications' metrics",
            [this, &loop, &registry, &groups,
             readers = std::move(readers)](const Runtime& runtime) -> std::unique_ptr<MetricSession> {
              if (settings_.wanted && !settings_.wanted(runtime)) return nullptr;
              return std::make_unique<MetricSession>(loop, registry, groups, readers, log_, settings_,
                                                     reading_, on_measurement_, runtime);
            }) {}

transport::Task<void> AppMetrics::end() {
  return kept_.end(kStopLimit);
}

std::string AppMetrics::why_not(const std::string& runtime_id) const {
  const auto known = kept_.all().find(runtime_id);
  return known == kept_.all().end() ? "its counters are not read" : known->second->why_not();
}

std::string AppMetrics::text(const Registry::Filter& filter) const {
  MetricFamilies families;
  const auto now = MetricTable::Clock::now();
  for (const auto& [id, kept] : kept_.all()) {
    const Runtime& runtime = kept->runtime();
    if (!filter(runtime)) continue;
    kept->table().for_each(now, [&](const MetricSeries& series) { families.add(runtime, series); });
  }
  return families.text();
}

}  // namespace farport::router
