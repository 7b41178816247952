// farport check: what is right and what is wrong with a configuration.
#include "auth/check.hpp"

#include <filesystem>

#include <unistd.h>

#include "cli/check_access.hpp"
#include "cli/check_live.hpp"
#include "cli/command_name.hpp"
#include "cli/commands.hpp"
#include "cli/confine.hpp"
#include "cli/finding_report.hpp"
#include "config/resolve.hpp"
#include "config/values.hpp"
#include "transport/socket.hpp"

namespace farport::cli {
namespace {

using Level = auth::Finding::Level;

auth::TlsFiles files_of(const config::TlsFiles& tls) {
  return {tls.cert, tls.key, tls.ca, tls.crl};
}

void check_directory(FindingReport& report, const std::string& what, const std::string& path, int access) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    report.add(Level::problem, what + " " + path + " is no directory");
  } else if (::access(path.c_str(), access) != 0) {
    report.add(Level::problem, what + " " + path + " can't be used by user " + std::to_string(::geteuid()));
  } else {
    report.add(Level::ok, what + " " + path);
  }
}

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

void check_agent(FindingReport& report, const config::ServeSettings& settings) {
  // What follows is looked at as that user.
  const Result<void> unprivileged = become_user(settings);
  if (!unprivileged) return report.add(Level::problem, unprivileged.error().message());
  if (!settings.confinement.user.empty()) report.add(Level::ok, "runs as user " + settings.confinement.user);
  report.add(try_listening(settings));
  if (settings.insecure_loopback) {
    report.add(Level::warning, "listens on " + to_string(*settings.insecure_loopback) +
                                   " without TLS: every process of this host may use it");
  }
  if (!settings.listen.empty()) report.add(auth::check_tls_files(files_of(settings.tls), auth::Side::server));
  check_policy(report, settings.policy);
  for (const std::string& path : settings.search)
    check_directory(report, "search directory", path, R_OK | X_OK);
  if (settings.search_processes) report.add(Level::ok, "looks into every process that it sees");
  for (const config::NamedSocket& named : settings.runtimes) {
    report.add(Level::ok, "the runtime " + named.name + " is expected at " + named.path);
  }
  for (const std::string& path : settings.diagnostic_ports) {
    check_directory(report, "runtimes dial in at " + path + ": the directory",
                    std::filesystem::path(path).parent_path(), W_OK | X_OK);
  }
  // Before the search, which has threads.
  check_confinement(report, settings);
  report.add(try_searching(settings));
}

void check_mirror(FindingReport& report, const config::ConnectSettings& settings) {
  for (const config::RemoteSettings& remote : settings.remotes) {
    report.add(auth::check_tls_files(files_of(remote.tls), auth::Side::client));
    report.add(try_dialling(remote));
    check_verify(report, remote.verify);
  }
  check_directory(report, "socket directory", settings.socket_dir, W_OK | X_OK);
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
      for (const std::string& problem : settings.error()) report.add(Level::problem, problem);
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
