// From a session's settings to the times that both sides keep.
#pragma once

#include "config/settings.hpp"
#include "router/session_times.hpp"

namespace farport::cli {

[[nodiscard]] inline router::SessionTimes session_times(const config::SessionSettings& settings) {
  return {settings.grace, settings.ping_interval, settings.ping_timeout};
}

}  // namespace farport::cli
