// The parts of `farport check` about access rules and about an agent's expected identity.
#pragma once

#include "cli/output/finding_report.hpp"
#include "config/flags.hpp"
#include "config/settings.hpp"

namespace farport::cli {

/// Checks the rules, and reports what each grant gives.
void check_policy(FindingReport& report, const auth::PolicyRules& rules);

/// Reports what the identity of --as may do by the agent's configuration: the command of --command, or every
/// command.
void check_as(FindingReport& report, const config::ServeSettings& settings, const config::Flags& flags);

/// Checks the further conditions on an agent's certificate; does nothing if there are none.
void check_verify(FindingReport& report, const auth::IdentityFilter& verify);

}  // namespace farport::cli
