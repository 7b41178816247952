// farport check: what is right and what is wrong with a configuration.
#include "auth/check.hpp"

#include <cstdio>
#include <filesystem>

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "auth/policy.hpp"
#include "auth/subject.hpp"
#include "cli/check_live.hpp"
#include "cli/command_name.hpp"
#include "cli/commands.hpp"
#include "cli/confine.hpp"
#include "cli/text.hpp"
#include "config/resolve.hpp"
#include "config/values.hpp"
#include "transport/socket.hpp"

namespace farport::cli {
namespace {

using auth::Finding;
using Level = Finding::Level;

/// Prints findings as they come, or all as JSON at its end, and remembers whether one is a problem.
class Report {
 public:
  explicit Report(bool json) {
    if (json) json_ = nlohmann::json::array();
  }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
  ~Report() {
    if (!json_.is_array()) return;
    const std::string text = json_.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
    std::fprintf(stdout, "%s\n", text.c_str());
  }

  void add(Level level, const std::string& text) {
    const char* word = level == Level::ok ? "ok" : level == Level::warning ? "warning" : "problem";
    if (json_.is_array()) {
      json_.push_back({{"level", word}, {"text", text}});
    } else {
      print(stdout, "{:<8} {}\n", std::string_view(word), text);
    }
    if (level == Level::problem) ++problems_;
  }
  void add(const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) add(finding.level, finding.text);
  }
  [[nodiscard]] int exit_code() const { return problems_ == 0 ? kSuccess : kFailure; }

 private:
  int problems_ = 0;
  nlohmann::json json_;  ///< An array where it is asked for.
};

auth::TlsFiles files_of(const config::TlsFiles& tls) {
  return {tls.cert, tls.key, tls.ca, tls.crl};
}

void check_directory(Report& report, const std::string& what, const std::string& path, int access) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    report.add(Level::problem, what + " " + path + " is no directory");
  } else if (::access(path.c_str(), access) != 0) {
    report.add(Level::problem, what + " " + path + " can't be used by user " + std::to_string(::geteuid()));
  } else {
    report.add(Level::ok, what + " " + path);
  }
}

void check_policy(Report& report, const auth::PolicyRules& rules) {
  const auto policy = auth::Policy::make(rules);
  if (!policy) return report.add(Level::problem, policy.error().message());
  for (const auth::Grant& grant : rules.grants) {
    const std::string role = grant.role.empty() ? std::string(auth::kObserver) : grant.role;
    const bool open = grant.identity.all;
    report.add(open ? Level::warning : Level::ok,
               grant.text + " gives the role " + role + (open ? " to every certificate of the CA" : ""));
  }
}

/// What the agent would give up here.
void check_confinement(Report& report, const config::ServeSettings& settings) {
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

void check_agent(Report& report, const config::ServeSettings& settings) {
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

void check_mirror(Report& report, const config::ConnectSettings& settings) {
  for (const config::RemoteSettings& remote : settings.remotes) {
    report.add(auth::check_tls_files(files_of(remote.tls), auth::Side::client));
    report.add(try_dialling(remote));
    if (remote.verify.empty()) continue;
    const Result<void> meant = auth::check_filter(remote.verify, "--verify-cn, -uri or -pin");
    if (!meant) report.add(Level::problem, meant.error().message());
    if (meant) report.add(Level::ok, "the agent is verified by what its certificate says of it, too");
  }
  check_directory(report, "socket directory", settings.socket_dir, W_OK | X_OK);
  // The longest name that is made there: the widest pid and start time.
  const std::string name = "/dotnet-diagnostic-dsrouter-4194304-99999999999-socket";
  if (settings.socket_dir.size() + name.size() > transport::kMaxUnixPath) {
    report.add(Level::problem,
               "the socket directory's path is too long: sockets' paths have at most 107 bytes");
  }
}

/// Grants of which it can't be told here whether they are for the runtime that is meant.
void warn_of_conditions(Report& report, const auth::Access& access, bool runtime_named) {
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

/// What somebody may do with the agent's configuration.
void check_as(Report& report, const config::ServeSettings& settings, const config::Flags& flags) {
  const auto policy = auth::Policy::make(settings.policy);
  const auto identity = auth::parse_identity(*flags.as);
  if (!policy) return report.add(Level::problem, policy.error().message());
  if (!identity) return report.add(Level::problem, identity.error().message());
  const auth::Access access = policy->access_of(*identity);
  const std::string name = flags.runtime_name.value_or("");
  const auth::RuntimeTraits runtime{name, {}, 0, 0};
  for (const std::string_view permission : auth::all_permissions()) {
    if (!flags.command.empty() && permission != flags.command) continue;
    const auth::Decision decision = access.may(permission, runtime);
    if (decision.allowed) {
      report.add(Level::ok,
                 std::string(permission) + ": allowed by " + decision.rule + ", role " + decision.role);
    } else {
      report.add(flags.command.empty() ? Level::warning : Level::problem, "refused: " + decision.why);
    }
  }
  warn_of_conditions(report, access, flags.runtime_name.has_value());
}

}  // namespace

int check(const config::Flags& flags) {
  Report report(flags.json);
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
    explain(config::resolve_serve(flags),
            [&](Report& into, const config::ServeSettings& settings) { check_as(into, settings, flags); });
  } else if (flags.remotes.empty()) {
    explain(config::resolve_serve(flags), check_agent);
  } else {
    explain(config::resolve_connect(flags), check_mirror);
  }
  return report.exit_code();
}

}  // namespace farport::cli
