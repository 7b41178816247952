// The part of `farport check` that looks at who may do what, and who an agent must be.
#pragma once

#include "cli/output/finding_report.hpp"
#include "config/flags.hpp"
#include "config/settings.hpp"

namespace farport::cli {

/// The rules, and what each grant gives.
void check_policy(FindingReport& report, const auth::PolicyRules& rules);

/// What the identity of --as may do with the agent's configuration: --command, or every command.
void check_as(FindingReport& report, const config::ServeSettings& settings, const config::Flags& flags);

/// What an agent's certificate must say for a mirror to take it, beside its name; nothing where it is empty.
void check_verify(FindingReport& report, const auth::IdentityFilter& verify);

}  // namespace farport::cli
