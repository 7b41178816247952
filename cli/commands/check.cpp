// farport check: what is right and what is wrong with a configuration.
#include "cli/commands/check_access.hpp"
#include "cli/commands/check_agent.hpp"
#include "cli/commands/check_mirror.hpp"
#include "cli/options/command_name.hpp"
#include "cli/options/commands.hpp"
#include "config/resolve.hpp"

namespace farport::cli {

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
