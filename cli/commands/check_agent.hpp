// The part of `farport check` that looks at an agent's configuration.
#pragma once

#include "cli/output/finding_report.hpp"
#include "config/settings.hpp"

namespace farport::cli {

/// Whether an agent could run with these settings, here and now, what it would give up, and what it would
/// find.
void check_agent(FindingReport& report, config::ServeSettings settings);

}  // namespace farport::cli
