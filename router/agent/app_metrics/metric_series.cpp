#include "router/agent/app_metrics/metric_series.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>

#include "base/escape.hpp"
#include "router/agent/metrics/metrics_text.hpp"

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

/// Labels in the order in which they are added, each name once: the first one counts.
class Labels {
 public:
  void add(const std::string& name, std::string_view value) {
    if (value.empty() || !names_.insert(name).second) return;
    text_ += (text_.empty() ? "" : ",") + MetricsText::label(name, value);
  }
  /// Takes a name that is written otherwise.
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
    const std::string_view tag = rest.substr(0, rest.find(','));
    const std::size_t equals = tag.find('=');
    if (equals != std::string_view::npos)
      labels.add(metric_name(tag.substr(0, equals)), tag.substr(equals + 1));
    rest.remove_prefix(std::min(tag.size() + 1, rest.size()));
  }
  return labels;
}

}  // namespace

std::string metric_name(std::string_view text) {
  std::string name;
  for (const char c : text) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0) name.insert(0, 1, '_');
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

}  // namespace farport::router
