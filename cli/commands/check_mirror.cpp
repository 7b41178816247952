#include "cli/commands/check_mirror.hpp"

#include <algorithm>

#include <unistd.h>

#include "auth/check.hpp"
#include "cli/commands/check_access.hpp"
#include "cli/commands/examine.hpp"
#include "cli/terminal/passphrases.hpp"
#include "cli/setup/tls_files.hpp"
#include "transport/socket.hpp"

namespace farport::cli {
namespace {

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

}  // namespace

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

}  // namespace farport::cli
