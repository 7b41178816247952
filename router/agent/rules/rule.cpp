#include "router/agent/rules/rule.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace farport::router {

using events::Measurement;

bool CounterCondition::is_about(const Measurement& measurement) const {
  if (measurement.provider != provider || measurement.name != name) return false;
  if (event_source && measurement.is_meter) return false;
  return std::ranges::all_of(tags, [&measurement](const auto& wanted) {
    return std::ranges::any_of(measurement.labels, [&wanted](const auto& tag) {
      return tag.first == wanted.first && tag.second == wanted.second;
    });
  });
}

std::optional<double> CounterCondition::value_of(const Measurement& measurement,
                                                 std::chrono::duration<double> interval) const {
  if (quantile) {
    const auto known =
        std::ranges::find(measurement.quantiles, *quantile, [](const auto& each) { return each.first; });
    if (known == measurement.quantiles.end() || !std::isfinite(known->second)) return std::nullopt;
    return known->second;
  }
  const bool grows =
      measurement.kind == Measurement::Kind::rate || measurement.kind == Measurement::Kind::histogram;
  const double told = measurement.interval > 0 ? measurement.interval : interval.count();
  const double value = grows && told > 0 ? measurement.value / told : measurement.value;
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

bool Lasting::note(bool holds, Clock::time_point now, Times times) {
  if (now - noted_ > times.gap) since_.reset();
  noted_ = now;
  if (!holds) {
    since_.reset();
    return false;
  }
  if (!since_) since_ = now;
  return now - *since_ >= times.lasts;
}

bool Repeated::note(std::uint64_t count, Clock::time_point now, std::size_t times,
                    std::chrono::milliseconds within) {
  seen_.insert(seen_.end(), std::min<std::uint64_t>(count, times), now);
  while (seen_.size() > times) seen_.pop_front();
  return this->count(now, within) >= times;
}

std::size_t Repeated::count(Clock::time_point now, std::chrono::milliseconds within) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(seen_, [&](Clock::time_point each) { return now - each <= within; }));
}

std::string subject_of(const Runtime& runtime) {
  // Names of containers come from within.
  if (!runtime.container.id.empty()) return fmt::format("{}:{}", runtime.user, runtime.container.id);
  return fmt::format("{}:{}", runtime.user, runtime.name);
}

}  // namespace farport::router
