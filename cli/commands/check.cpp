// farport check: what is right and what is wrong with a configuration.
#include "auth/check.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <unistd.h>

#include "base/finding.hpp"
#include "cli/commands/check_access.hpp"
#include "cli/commands/examine.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/help_text.hpp"
#include "cli/output/finding_report.hpp"
#include "cli/setup/confine.hpp"
#include "cli/setup/local_search.hpp"
#include "cli/setup/tls_files.hpp"
#include "cli/terminal/passphrases.hpp"
#include "config/resolve.hpp"
#include "config/settings.hpp"
#include "config/values.hpp"
#include "transport/socket.hpp"

namespace farport::cli {
namespace {

// The part of `farport check` that looks at an agent's configuration.

// The part of `farport check` that tries things out: listening and searching.

using Findings = std::vector<Finding>;
using Level = Finding::Level;

/// Those have lines of their own.
bool is_about_directory(const router::DiscoveryProblem& problem) {
  return problem.issue == router::DiscoveryIssue::no_directory ||
         problem.issue == router::DiscoveryIssue::closed_directory;
}

/// What is said of the address for health and metrics.
Finding about_admin(const transport::Address& address) {
  const std::string answers = "answers health and metrics without TLS on " + address.text();
  if (address.is_loopback()) return {Level::ok, answers};
  return {Level::warning,
          answers + ", which is not a loopback address: anybody who reaches it may read them"};
}

/// Listens on what an address stands for, and adds what `about` says of it, or why that can't be.
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

/// Binds what the agent would listen on, for a moment. A port that another process has is a problem.
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

/// Searches as the agent would, for two seconds: the runtimes found, and what was found and can't be used.
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

using Level = Finding::Level;

/// What the agent would give up here.
void check_confinement(FindingReport& report, const config::ServeSettings& settings) {
  if (settings.confinement.mode == "off") {
    return report.add(Level::warning, "the agent isn't confined: it is switched off");
  }
  const confinement::Confinement foreseen = confinement::foresee(needs_of(settings));
  for (const std::string& item : foreseen.in_force) report.add(Level::ok, item);
  const bool required = settings.confinement.mode == "required";
  for (const std::string& item : foreseen.missing) {
    report.add(required ? Level::problem : Level::warning, item);
  }
}

/// Whether an agent could run with these settings, here and now, what it would give up, and what it would
/// find.
void check_agent(FindingReport& report, config::ServeSettings settings) {
  const Result<void> unlocked = unlock(settings);
  if (!unlocked) return report.add(Level::problem, unlocked.error().message());
  // What follows is looked at as that user.
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
  for (const config::NamedSocket& named : settings.runtimes) {
    report.add(Level::ok, "the runtime " + named.name + " is expected at " + named.path);
  }
  for (const std::string& path : settings.diagnostic_ports) {
    report.add_directory("runtimes dial in at " + path + ": the directory",
                         std::filesystem::path(path).parent_path(), W_OK | X_OK);
  }
  // Before the search, which has threads.
  check_confinement(report, settings);
  report.add(try_searching(settings));
}

// The part of `farport check` that looks at a mirror's configuration.

using Level = Finding::Level;

bool is_agents_step(std::string_view step) {
  return std::find(std::begin(router::kAgentSteps), std::end(router::kAgentSteps), step) !=
         std::end(router::kAgentSteps);
}

/// Dials as `farport doctor` does. What is wrong at the other side is no problem of this configuration.
void dial(FindingReport& report, const config::RemoteSettings& remote) {
  for (const Examined& examined : examine_remote(remote, Depth::access)) {
    for (router::Diagnosis each : examined.diagnoses) {
      // The files have findings of their own.
      if (each.step == router::step::kCertificate || each.finding.level == Level::skipped) continue;
      if (is_agents_step(each.step) && each.finding.level == Level::problem)
        each.finding.level = Level::warning;
      report.add(each, examined.agent);
    }
  }
}

/// Whether a mirror could run with these settings: asks every agent, too.
void check_mirror(FindingReport& report, config::ConnectSettings settings) {
  const Result<void> unlocked = unlock(settings);
  if (!unlocked) return report.add(Level::problem, unlocked.error().message());
  for (const config::RemoteSettings& remote : settings.remotes) {
    // A command brings its own way to know the other side.
    if (!remote.addresses.empty()) {
      report.add(auth::check_tls_files(tls_files(remote.tls), auth::Side::client));
    }
    dial(report, remote);
    check_verify(report, remote.verify);
  }
  report.add_directory("socket directory", settings.socket_dir, W_OK | X_OK);
  // The longest name that is made there: the widest pid and start time.
  const std::string name = "/dotnet-diagnostic-dsrouter-4194304-99999999999-socket";
  if (settings.socket_dir.size() + name.size() > transport::kMaxUnixPath) {
    report.add(Level::problem,
               "the socket directory's path is too long: sockets' paths have at most 107 bytes");
  }
}

}  // namespace

int check(const config::Flags& flags) {
  FindingReport report(flags.json);
  if (!flags.command.empty()) {
    const Result<void> known = check_command_name(flags.command);
    if (!known) return cli::report(known.error(), kUsage);
    if (!flags.as)
      return cli::report(std::vector<std::string>{"--command needs --as: who wants to send it?"});
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

}  // namespace farport::cli
