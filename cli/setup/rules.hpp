// The agent's rules, from its settings.
#pragma once

#include <optional>

#include "base/error.hpp"
#include "config/settings.hpp"
#include "router/agent/app_metrics/app_metrics.hpp"
#include "router/agent/rules/rules.hpp"

namespace farport::cli {

/// Empty if there are none. Errors: a rule is about a user whom this host does not know.
[[nodiscard]] Result<std::optional<router::RulesSettings>> rules_of(const config::ServeSettings& settings);

/// The counters that the agent reads of its runtimes, for Prometheus and for rules; empty if it reads none.
/// Errors: a counter has a malformed name, or as for rules_of().
[[nodiscard]] Result<std::optional<router::AppMetricsSettings>> counters_of(
    const config::ServeSettings& settings);

/// Fails if what the rule takes would be refused: an unknown provider, level or counter.
[[nodiscard]] Result<void> check_actions(const config::RuleSettings& rule);

}  // namespace farport::cli
