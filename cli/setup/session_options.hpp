// From a session's settings to what both sides do.
#pragma once

#include "config/settings.hpp"
#include "router/wire/session_options.hpp"

namespace farport::cli {

[[nodiscard]] inline router::SessionOptions session_options(const config::SessionSettings& settings) {
  auto compression = router::Compression::automatic;
  if (settings.compression == "always") compression = router::Compression::always;
  if (settings.compression == "never") compression = router::Compression::never;
  return {settings.grace, settings.ping_interval, settings.ping_timeout, compression};
}

}  // namespace farport::cli
