// farport check: what is right and what is wrong with a configuration.
#include "auth/check.hpp"

#include <algorithm>

#include <unistd.h>

#include "cli/commands/check_access.hpp"
#include "cli/commands/check_agent.hpp"
#include "cli/commands/examine.hpp"
#include "cli/options/command_name.hpp"
#include "cli/options/commands.hpp"
#include "cli/output/finding_report.hpp"
#include "cli/setup/tls_files.hpp"
#include "cli/terminal/passphrases.hpp"
#include "config/resolve.hpp"
#include "config/settings.hpp"
#include "transport/socket.hpp"

namespace farport::cli {
namespace {

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
