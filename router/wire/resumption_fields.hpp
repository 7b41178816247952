// The header fields of requests that can be resumed (docs/wire.md, "Resuming").
#pragma once

#include <string_view>

namespace farport::router::resumption_field {

/// By which the next session asks for it: in the first request, and a new one in each that resumes it.
inline constexpr std::string_view kToken = "farport-connection";
/// Of the agent that had it.
inline constexpr std::string_view kInstance = "farport-instance";
/// How many bytes of the answer's body have been received.
inline constexpr std::string_view kReceived = "farport-received";
/// The place in the request's body at which it goes on.
inline constexpr std::string_view kFrom = "farport-from";

}  // namespace farport::router::resumption_field
