#include "router/agent/app_metrics/app_metrics.hpp"

#include <set>
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

/// A set of labels in the order in which they are added. Only the first label of a name counts.
class Labels {
 public:
  void add(const std::string& name, std::string_view value) {
    if (value.empty() || !names_.insert(name).second) return;
    text_ += (text_.empty() ? "" : ",") + MetricsText::label(name, value);
  }
  /// Reserves a name that is written separately.
  void reserve(const std::string& name) { names_.insert(name); }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::string with(std::string_view name, std::string_view value) const {
    return text_ + "," + MetricsText::label(name, value);
  }

 private:
  std::set<std::string> names_;
  std::string text_;
};

Labels labels_of(const Runtime& runtime, const events::Measurement& measurement) {
  Labels labels;
  labels.add("id", runtime.id);
  labels.add("runtime", runtime.name);
  labels.add("pid", std::to_string(runtime.pid));
  labels.add("host", runtime.host);
  labels.add("pod", runtime.container.pod);
  labels.add("container", runtime.container.name);
  labels.add("meter", measurement.provider);
  labels.reserve("quantile");
  std::string_view rest = measurement.tags;
  while (!rest.empty()) {
    const std::string_view tag = take_until(rest, ',');
    const std::size_t equals = tag.find('=');
    if (equals != std::string_view::npos)
      labels.add(metric_name(tag.substr(0, equals)), tag.substr(equals + 1));
  }
  return labels;
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
  const char* const type = type_of(last.kind);
  const std::string name = metric_name(last.name) + (last.kind == MeasurementKind::rate ? "_total" : "");
  Family& family = families_.try_emplace(name, Family{type, last.unit, {}}).first->second;
  if (family.type != type) return;
  const Labels labels = labels_of(runtime, last);
  if (last.kind != MeasurementKind::histogram) {
    family.samples.push_back(
        {"", labels.text(), last.kind == MeasurementKind::rate ? series.count : last.value});
    return;
  }
  for (const auto& [quantile, value] : last.quantiles)
    family.samples.push_back({"", labels.with("quantile", fmt::format("{}", quantile)), value});
  family.samples.push_back({"_sum", labels.text(), series.sum});
  family.samples.push_back({"_count", labels.text(), series.count});
}

std::string MetricFamilies::text() const {
  MetricsText text;
  for (const auto& [name, family] : families_) {
    const std::string unit = family.unit.empty() ? "" : ", in " + escape(family.unit);
    text.family(name, family.type, "Told by applications" + unit + ".");
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
