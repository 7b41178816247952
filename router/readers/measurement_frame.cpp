#include "router/readers/measurement_frame.hpp"

#include <cmath>

#include "router/wire/json_members.hpp"

namespace farport::router {
namespace {

constexpr std::size_t kMostMeasurementNames = 1024;
constexpr std::size_t kMostQuantiles = 16;
/// Each byte of a name may take six in JSON.
constexpr std::size_t kMostText = 16 * 1024;
constexpr std::size_t kMostJsonValues = 64;

bool fits(const events::Measurement& measurement) {
  const std::size_t names = measurement.provider.size() + measurement.name.size() + measurement.tags.size() +
                            measurement.unit.size() + measurement.display_name.size();
  return names <= kMostMeasurementNames && measurement.quantiles.size() <= kMostQuantiles;
}

/// What is no number in JSON, such as infinity, becomes null.
json object_with(const std::optional<double>& value) {
  return value ? json(*value) : json();
}

std::optional<double> number_of(const json& object, const char* name) {
  const json& member = object.at(name);
  if (!member.is_number()) return std::nullopt;
  return member.get<double>();
}

}  // namespace

std::optional<std::string> encode_measurement(const events::Measurement& measurement) {
  if (!fits(measurement) || !std::isfinite(measurement.value)) return std::nullopt;
  json quantiles = json::array();
  for (const auto& [quantile, value] : measurement.quantiles) {
    if (!std::isfinite(quantile) || !std::isfinite(value)) continue;
    quantiles.push_back(quantile);
    quantiles.push_back(value);
  }
  return router::text_of({{"meter", measurement.is_meter},
                          {"provider", measurement.provider},
                          {"name", measurement.name},
                          {"display", measurement.display_name},
                          {"unit", measurement.unit},
                          {"tags", measurement.tags},
                          {"kind", static_cast<unsigned>(measurement.kind)},
                          {"value", measurement.value},
                          {"total", object_with(measurement.total)},
                          {"sum", object_with(measurement.sum)},
                          {"interval", std::isfinite(measurement.interval) ? measurement.interval : 0},
                          {"quantiles", std::move(quantiles)}});
}

std::optional<events::Measurement> decode_measurement(std::string_view text) {
  if (text.size() > kMostText) return std::nullopt;
  try {
    const json object = parse_bounded(text, kMostJsonValues);
    events::Measurement measurement;
    measurement.is_meter = object.at("meter").get<bool>();
    measurement.provider = object.at("provider").get<std::string>();
    measurement.name = object.at("name").get<std::string>();
    measurement.display_name = object.at("display").get<std::string>();
    measurement.unit = object.at("unit").get<std::string>();
    measurement.tags = object.at("tags").get<std::string>();
    const auto kind = number_at<std::uint8_t>(object, "kind");
    if (kind > static_cast<std::uint8_t>(events::Measurement::Kind::histogram)) return std::nullopt;
    measurement.kind = static_cast<events::Measurement::Kind>(kind);
    const auto value = number_of(object, "value");
    if (!value) return std::nullopt;
    measurement.value = *value;
    measurement.total = number_of(object, "total");
    measurement.sum = number_of(object, "sum");
    measurement.interval = number_of(object, "interval").value_or(0);
    const json& quantiles = object.at("quantiles");
    for (std::size_t i = 0; i + 1 < quantiles.size(); i += 2) {
      if (!quantiles.at(i).is_number() || !quantiles.at(i + 1).is_number()) continue;
      measurement.quantiles.emplace_back(quantiles.at(i).get<double>(), quantiles.at(i + 1).get<double>());
    }
    if (!fits(measurement)) return std::nullopt;
    return measurement;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace farport::router
