// The header fields by which an agent tells how often one identity may ask (docs/wire.md, "Limits").
#pragma once

#include <string_view>

namespace farport::router::pace_field {

/// Beside the list of runtimes: requests of one identity in a second.
inline constexpr std::string_view kRate = "farport-requests-per-second";
/// Beside a 429 that passes by itself: when to ask again, in milliseconds. The request was not looked at.
inline constexpr std::string_view kRetryAfterMs = "farport-retry-after-ms";

}  // namespace farport::router::pace_field
