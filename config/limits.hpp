// The limits of [limits] and --limit, by name.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace farport::config {

/// What an agent lets callers use. docs/configuration.md says what each is.
struct LimitSettings {
  std::uint64_t sessions = 1000;
  std::uint64_t sessions_per_identity = 250;
  std::uint64_t handshakes = 0;  ///< 0: by the memory that there is, as is buffered_bytes.
  std::uint64_t connections_per_session = 1000;
  std::uint64_t connections_per_identity = 2000;
  std::uint64_t requests_per_second = 10'000;
  std::uint64_t head_size = 16ULL << 10;
  std::uint64_t message_size = 64ULL << 10;
  std::uint64_t buffered_bytes = 0;
  std::chrono::milliseconds handshake_timeout{10'000};
  std::chrono::milliseconds first_message_timeout{10'000};
  std::chrono::milliseconds idle_timeout{300'000};  ///< 0: off.
  std::chrono::milliseconds session_lifetime{0};    ///< 0: off.
};

/// Sets one limit from its text: a whole number, a size ("16KiB"), or a duration ("10s", for some also
/// "off"). Errors name the limit and what it takes; for a name that is none, the one that was meant.
[[nodiscard]] Result<void> set_limit(LimitSettings& limits, std::string_view name, std::string_view value);

/// The same from "NAME=VALUE".
[[nodiscard]] Result<void> set_limit(LimitSettings& limits, std::string_view assignment);

/// Their names, as the file has them.
[[nodiscard]] std::vector<std::string> limit_names();

}  // namespace farport::config
