// What only the agent is told: its settings, its limits, and what grants and roles hold.
#pragma once

#include <vector>

#include "config/setting.hpp"

namespace farport::config {

/// The agent's part of the settings of a Configuration.
[[nodiscard]] std::vector<Setting<Configuration>> agent_settings();
[[nodiscard]] std::vector<Setting<auth::Grant>> grant_settings();
[[nodiscard]] std::vector<Setting<auth::RoleRule>> role_settings();

}  // namespace farport::config
