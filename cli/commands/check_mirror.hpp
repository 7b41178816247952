// The part of `farport check` that looks at a mirror's configuration.
#pragma once

#include "cli/output/finding_report.hpp"
#include "config/settings.hpp"

namespace farport::cli {

/// Whether a mirror could run with these settings: asks every agent, too.
void check_mirror(FindingReport& report, config::ConnectSettings settings);

}  // namespace farport::cli
