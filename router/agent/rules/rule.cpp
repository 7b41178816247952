#include "router/agent/rules/rule.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"

namespace farport::router {

using events::Measurement;

namespace {

/// "http.route=/,http.response.status_code=200" as pairs. A value with a comma is cut there.
std::map<std::string, std::string, std::less<>> tags_in(std::string_view text) {
  std::map<std::string, std::string, std::less<>> tags;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view pair = text.substr(0, end);
    const std::size_t equals = pair.find('=');
    if (equals != std::string_view::npos) tags.emplace(pair.substr(0, equals), pair.substr(equals + 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return tags;
}

}  // namespace

bool CounterCondition::is_about(const Measurement& measurement) const {
  if (measurement.provider != provider || measurement.name != name) return false;
  if (event_source && measurement.is_meter) return false;
  if (tags.empty()) return true;
  const auto has = tags_in(measurement.tags);
  return std::ranges::all_of(tags, [&has](const auto& wanted) {
    const auto found = has.find(wanted.first);
    return found != has.end() && found->second == wanted.second;
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
