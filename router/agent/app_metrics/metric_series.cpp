#include "router/agent/app_metrics/metric_series.hpp"

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

}  // namespace farport::router
