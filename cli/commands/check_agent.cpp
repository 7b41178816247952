#include "cli/commands/check_agent.hpp"

#include <filesystem>

#include <unistd.h>

#include "auth/check.hpp"
#include "cli/commands/check_access.hpp"
#include "cli/commands/check_live.hpp"
#include "cli/setup/confine.hpp"
#include "cli/terminal/passphrases.hpp"
#include "cli/setup/tls_files.hpp"
#include "config/values.hpp"

namespace farport::cli {
namespace {

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

}  // namespace

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

}  // namespace farport::cli
