// What `farport quickstart` and `farport join` agree on.
#pragma once

namespace farport::cli {

/// The name in the agent's certificate, whatever its address: no other agent has a certificate of its CA.
inline constexpr const char* kQuickstartName = "farport-quickstart";

}  // namespace farport::cli
