// farport check: examines a configuration.
#include "auth/check.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <unistd.h>

#include <CLI/CLI.hpp>

#include "auth/identity.hpp"
#include "auth/policy.hpp"
#include "base/finding.hpp"
#include "cli/commands/examine.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/help_text.hpp"
#include "cli/options/options.hpp"
#include "cli/output/finding_report.hpp"
#include "cli/setup/confine.hpp"
#include "cli/setup/helpers.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/setup/rules.hpp"
#include "cli/terminal/passphrases.hpp"
#include "config/flags.hpp"
#include "config/resolve.hpp"
#include "config/settings.hpp"
#include "config/values.hpp"
#include "router/mirror/mirrored_runtime.hpp"
#include "transport/socket.hpp"

namespace farport::cli {
namespace {

// The parts of `farport check` about access rules and about an agent's expected identity.

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

/// Checks the rules, and reports what each grant gives.
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

/// Reports what the identity of --as may do by the agent's configuration: the command of --command, or every
/// command.
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

/// Checks the further conditions on an agent's certificate; does nothing if there are none.
void check_verify(FindingReport& report, const auth::IdentityFilter& verify) {
  if (verify.empty()) return;
  const Result<void> meant = auth::check_filter(verify, "--verify-cn, -uri or -pin");
  if (!meant) report.add(Level::problem, meant.error().message());
  if (meant) report.add(Level::ok, "the agent's certificate must also match the verify conditions");
}

using Findings = std::vector<Finding>;

/// Problems with directories are reported separately.
bool is_about_directory(const router::DiscoveryProblem& problem) {
  return problem.issue == router::DiscoveryIssue::no_directory ||
         problem.issue == router::DiscoveryIssue::closed_directory;
}

/// The finding about the address for health and metrics.
Finding about_admin(const transport::Address& address) {
  const std::string answers = "answers health and metrics without TLS on " + address.text();
  if (address.is_loopback()) return {Level::ok, answers};
  return {Level::warning,
          answers + ", which is not a loopback address: anybody who reaches it may read them"};
}

/// Listens on all addresses behind a name, and adds the finding of `about` or the error for each.
template <typename About>
void try_address(transport::Loop& loop, Findings& findings, const config::Address& wanted, bool share,
                 About about) {
  const auto addresses = transport::resolve_here(wanted.host, wanted.port);
  if (!addresses) return findings.push_back({Level::problem, addresses.error().message()});
  for (const transport::Address& address : *addresses) {
    const auto listener = transport::Listener::tcp(loop, address, share);
    findings.push_back(listener ? about(address) : Finding{Level::problem, listener.error().message()});
  }
}

/// Binds the agent's addresses for a moment. A port that another process uses is a problem.
Findings try_listening(const config::ServeSettings& settings) {
  Findings findings;
  transport::Loop loop;
  for (const config::Address& wanted : settings.listen) {
    try_address(loop, findings, wanted, settings.reuse_port, [](const transport::Address& address) {
      return Finding{Level::ok, "listens on " + address.text()};
    });
  }
  if (settings.admin) try_address(loop, findings, *settings.admin, settings.reuse_port, about_admin);
  return findings;
}

/// Searches for two seconds as the agent would. Returns the runtimes found and the problems.
Findings try_searching(const config::ServeSettings& settings) {
  Findings findings;
  LocalSearch search(settings);
  search.loop().run(search.run());
  for (const router::RuntimePtr& runtime :
       search.registry().all([](const router::Runtime&) { return true; })) {
    findings.push_back({Level::ok, "finds " + runtime->name + " (pid " + std::to_string(runtime->pid) +
                                       ", .NET " + runtime->version + ", user " +
                                       std::to_string(runtime->user) + ")"});
  }
  if (findings.empty()) {
    findings.push_back({Level::warning, "finds no runtime as user " + std::to_string(::geteuid())});
  }
  for (const router::DiscoveryProblem& problem : search.discovery().findings().problems()) {
    if (!is_about_directory(problem)) findings.push_back({Level::warning, problem.message()});
  }
  return findings;
}

/// " as farport (uid 998)", or nothing if it is the agent's user.
std::string run_as(const config::CommandSettings& command, const CommandOwner& owner,
                   const config::ServeSettings& settings) {
  const auto rights = rights_of(command, owner, settings);
  return rights && rights->user ? " as " + confinement::describe(*rights->user) : "";
}

/// Reports whether the commands of stores and rules could be run, and as whom. Does not run them.
void check_commands(FindingReport& report, const config::ServeSettings& settings) {
  const auto commands = commands_of(settings);
  if (!commands) return report.add(Level::problem, commands.error().message());
  for (const config::EgressSettings& store : settings.egress) {
    const std::string as = run_as(store.run, owner_of(store), settings);
    report.add(Level::ok, "sends to " + store.name + " by " + store.run.command.front() + as);
  }
  for (const config::RuleSettings& rule : settings.rules) {
    if (rule.run.command.empty()) continue;
    const std::string as = run_as(rule.run, owner_of(rule), settings);
    report.add(Level::ok, "the rule " + rule.name + " runs " + rule.run.command.front() + as);
  }
}

/// Reports what the rules would take, and when.
void check_rules(FindingReport& report, const config::ServeSettings& settings) {
  const auto rules = rules_of(settings);
  if (!rules) return report.add(Level::problem, rules.error().message());
  if (!*rules) return;
  for (const router::Rule& rule : (*rules)->rules) {
    std::string taken;
    for (const router::RuleAction& action : rule.actions) taken += (taken.empty() ? "" : ", ") + action.text;
    report.add(Level::ok, "the rule " + rule.name + " takes " + taken + ": " + rule.when);
  }
}

/// Reports how the agent would be confined here.
void check_confinement(FindingReport& report, const config::ServeSettings& settings) {
  if (settings.confinement.mode == "off") {
    return report.add(Level::warning, "the agent isn't confined: it is switched off");
  }
  const confinement::Confinement foreseen = confinement::dry_run(needs_of(settings));
  for (const std::string& item : foreseen.in_force) report.add(Level::ok, item);
  const bool required = settings.confinement.mode == "required";
  for (const std::string& item : foreseen.missing) {
    report.add(required ? Level::problem : Level::warning, item);
  }
}

/// Reports whether an agent could run here with these settings, how it would be confined, and what it would
/// find.
void check_agent(FindingReport& report, config::ServeSettings settings) {
  const Result<void> unlocked = unlock(settings);
  if (!unlocked) return report.add(Level::problem, unlocked.error().message());
  // What follows is checked as the configured user.
  const Result<void> unprivileged = become_user(settings);
  if (!unprivileged) return report.add(Level::problem, unprivileged.error().message());
  if (!settings.confinement.user.empty()) report.add(Level::ok, "runs as user " + settings.confinement.user);
  report.add(try_listening(settings));
  if (settings.insecure_loopback) {
    report.add(Level::warning, "listens on " + to_string(*settings.insecure_loopback) +
                                   " without TLS: every process of this host may use it");
  }
  for (const config::Address& mirror : settings.dial) {
    const std::optional<Proxy> proxy = settings.proxy.towards(mirror.host);
    report.add(Level::ok,
               "dials " + to_string(mirror) + (proxy ? " through the proxy " + proxy->text() : ""));
  }
  if (settings.uses_tls()) report.add(auth::check_tls_files(tls_files(settings.tls), auth::Side::server));
  check_policy(report, settings.policy);
  for (const std::string& path : settings.search) report.add_directory("search directory", path, R_OK | X_OK);
  if (settings.search_processes) report.add(Level::ok, "looks into every process that it sees");
  for (const NamedPath& named : settings.named) {
    report.add(Level::ok, "the runtime " + named.name + " is expected at " + named.path);
  }
  for (const std::string& path : settings.diagnostic_ports) {
    report.add_directory("runtimes dial in at " + path + ": the directory",
                         std::filesystem::path(path).parent_path(), W_OK | X_OK);
  }
  check_commands(report, settings);
  check_rules(report, settings);
  // Before the search, which starts threads.
  check_confinement(report, settings);
  report.add(try_searching(settings));
}

bool is_agents_step(std::string_view step) {
  return std::find(std::begin(router::kAgentSteps), std::end(router::kAgentSteps), step) !=
         std::end(router::kAgentSteps);
}

/// Dials as `farport doctor` does. Problems at the other side are only warnings about this configuration.
void dial(FindingReport& report, const config::RemoteSettings& remote) {
  for (const Examined& examined : examine_remote(remote, Depth::access)) {
    for (router::Diagnosis each : examined.diagnoses) {
      // The certificate files are reported separately.
      if (each.step == router::step::kCertificate || each.finding.level == Level::skipped) continue;
      if (is_agents_step(each.step) && each.finding.level == Level::problem)
        each.finding.level = Level::warning;
      report.add(each, examined.agent);
    }
  }
}

/// Reports whether a mirror could run with these settings; also asks every agent.
void check_mirror(FindingReport& report, config::ConnectSettings settings) {
  const Result<void> unlocked = unlock(settings);
  if (!unlocked) return report.add(Level::problem, unlocked.error().message());
  for (const config::RemoteSettings& remote : settings.remotes) {
    // A command authenticates the other side itself.
    if (!remote.addresses.empty()) {
      report.add(auth::check_tls_files(tls_files(remote.tls), auth::Side::client));
    }
    dial(report, remote);
    check_verify(report, remote.verify);
  }
  report.add_directory("socket directory", settings.socket_dir, W_OK | X_OK);
  if (!router::has_room_for_sockets(settings.socket_dir)) {
    report.add(Level::problem,
               "the socket directory's path is too long: sockets' paths have at most 107 bytes");
  }
}

int check(const config::Flags& flags) {
  FindingReport report(flags.json);
  if (!flags.command.empty()) {
    const Result<void> known = check_command_name(flags.command);
    if (!known) return cli::report(known.error(), kUsage);
    if (!flags.as)
      return cli::report(std::vector<std::string>{"--command needs --as, the identity to check it for"});
  }
  const auto explain = [&](const auto& settings, auto check_settings) {
    if (settings) {
      check_settings(report, *settings);
    } else {
      for (const std::string& problem : settings.error()) report.add(Finding::Level::problem, problem);
    }
  };
  if (flags.as) {
    explain(config::resolve_serve(flags), [&](FindingReport& into, const config::ServeSettings& settings) {
      check_as(into, settings, flags);
    });
  } else if (flags.remotes.empty()) {
    explain(config::resolve_serve(flags), check_agent);
  } else {
    explain(config::resolve_connect(flags), check_mirror);
  }
  return report.exit_code();
}

constexpr const char* kCheckAbout =
    "Validates a configuration and its certificates. With AGENTs, checks what farport connect would use,\n"
    "and connects to each as farport doctor does; without, checks what farport serve would use. Exit code\n"
    "0 if there is no problem.\n"
    "With --as, shows what an identity may do under the agent's configuration, without asking an agent:\n"
    "exit code 0 if the --command is allowed.";
constexpr const char* kCheckExamples = R"(Examples:
  farport check --config /etc/farport/agent.toml
  farport check prod-orders
  farport check --config /etc/farport/agent.toml --as CN=alice \
      --command GenerateCoreDump3
  farport check --listen 0.0.0.0:9000 --allow-cn alice=operator \
      --tls-cert agent.crt --tls-key agent.key --tls-ca ca.crt)";

RunCommand add_check_options(CLI::App& options, config::Flags& flags) {
  add_remotes(options, flags);
  add_json_option(options, flags.json, "Print the findings as a JSON array");
  options.add_option("--as", flags.as, "Show what this identity may do under the agent's configuration")
      ->type_name("CN=NAME[,OU=…,DNS=…,URI=…,IP=…,PIN=…] or LOCAL=UID");
  options
      .add_option("--command", flags.command,
                  "With --as: check whether the identity may send this protocol command")
      ->type_name("COMMAND");
  options.add_option("--on", flags.runtime_name, "With --command: check for a runtime with this name")
      ->type_name("NAME");
  return [&flags] { return check(flags); };
}

}  // namespace

const Command kCheck{"check", "Validate a configuration and its certificates", kCheckAbout, kCheckExamples,
                     add_check_options};

}  // namespace farport::cli
