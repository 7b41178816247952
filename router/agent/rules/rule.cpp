#include "router/agent/rules/rule.hpp"

#include <algorithm>

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
    if (known == measurement.quantiles.end()) return std::nullopt;
    return known->second;
  }
  const bool grows =
      measurement.kind == Measurement::Kind::rate || measurement.kind == Measurement::Kind::histogram;
  if (!grows) return measurement.value;
  const double seconds = measurement.interval > 0 ? measurement.interval : interval.count();
  return seconds > 0 ? measurement.value / seconds : measurement.value;
}

bool Lasting::note(bool holds, Clock::time_point now, std::chrono::milliseconds time) {
  if (now - noted_ > kLongestGap) since_.reset();
  noted_ = now;
  if (!holds) {
    since_.reset();
    return false;
  }
  if (!since_) since_ = now;
  return now - *since_ >= time;
}

std::string subject_of(const Runtime& runtime) {
  // Names of containers come from within.
  if (!runtime.container.id.empty()) return runtime.container.id;
  return fmt::format("{}:{}", runtime.user, runtime.name);
}

}  // namespace farport::router
