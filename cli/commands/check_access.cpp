#include "cli/commands/check_access.hpp"

#include "auth/identity.hpp"
#include "auth/policy.hpp"

namespace farport::cli {
namespace {

using Level = Finding::Level;

/// Warns of grants whose conditions can't be evaluated here for the given runtime.
void warn_of_conditions(FindingReport& report, const auth::Access& access, bool runtime_named) {
  for (const auth::Grant* grant : access.grants()) {
    const auth::RuntimeFilter& runtimes = grant->runtimes;
    const std::string gives = grant->text + " gives the role " + grant->role;
    if (!runtimes.empty() && !runtime_named) {
      report.add(Level::warning, gives + " for some runtimes only: ask with --on NAME");
    } else if (!runtimes.command_line.empty() || !runtimes.pid.empty() || !runtimes.user.empty()) {
      report.add(Level::warning, gives +
                                     " by command line, pid or user, which only the agent knows: ask with "
                                     "farport can-i");
    }
  }
}

}  // namespace

void check_policy(FindingReport& report, const auth::PolicyRules& rules) {
  const auto policy = auth::Policy::make(rules);
  if (!policy) return report.add(Level::problem, policy.error().message());
  for (const auth::Grant& grant : rules.grants) {
    const std::string role = grant.role.empty() ? std::string(auth::kObserver) : grant.role;
    const bool open = grant.identity.all;
    report.add(open ? Level::warning : Level::ok,
               grant.text + " gives the role " + role + (open ? " to every certificate of the CA" : ""));
  }
}

void check_as(FindingReport& report, const config::ServeSettings& settings, const config::Flags& flags) {
  const auto policy = auth::Policy::make(settings.policy);
  const auto identity = auth::parse_identity(*flags.as);
  if (!policy) return report.add(Level::problem, policy.error().message());
  if (!identity) return report.add(Level::problem, identity.error().message());
  const auth::Access access = policy->access_of(*identity);
  const std::string name = flags.runtime_name.value_or("");
  const auth::RuntimeTraits runtime{name, {}, 0, 0};
  for (const std::string_view permission : auth::all_permissions()) {
    if (!flags.command.empty() && permission != flags.command) continue;
    const auth::GrantMatch match = access.may(permission, runtime);
    if (match.allowed) {
      report.add(Level::ok, std::string(permission) + ": allowed by " + match.rule + ", role " + match.role);
    } else {
      report.add(flags.command.empty() ? Level::warning : Level::problem, "refused: " + match.why);
    }
  }
  warn_of_conditions(report, access, flags.runtime_name.has_value());
}

void check_verify(FindingReport& report, const auth::IdentityFilter& verify) {
  if (verify.empty()) return;
  const Result<void> meant = auth::check_filter(verify, "--verify-cn, -uri or -pin");
  if (!meant) report.add(Level::problem, meant.error().message());
  if (meant) report.add(Level::ok, "the agent is verified by what its certificate says of it, too");
}

}  // namespace farport::cli
