// A measurement on its way from a reader to the agent.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "events/measurements.hpp"

namespace farport::router {

/// As JSON, in one frame. Nothing: it has more than a measurement that anybody has use for.
[[nodiscard]] std::optional<std::string> encode_measurement(const events::Measurement& measurement);

/// The reverse. Nothing where it is none, or has more than one that encode_measurement() has made.
[[nodiscard]] std::optional<events::Measurement> decode_measurement(std::string_view text);

}  // namespace farport::router
