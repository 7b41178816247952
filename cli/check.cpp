// farport check: what is right and what is wrong with a configuration.
#include "auth/check.hpp"

#include <cstdio>
#include <filesystem>

#include <unistd.h>

#include "auth/allow.hpp"
#include "cli/commands.hpp"
#include "config/resolve.hpp"
#include "config/values.hpp"
#include "transport/socket.hpp"

namespace farport::cli {
namespace {

using auth::Finding;
using Level = Finding::Level;

/// Prints findings as they come and remembers whether one is a problem.
class Report {
 public:
  void add(Level level, const std::string& text) {
    const char* word = level == Level::ok ? "ok" : level == Level::warning ? "warning" : "problem";
    std::printf("%-8s %s\n", word, text.c_str());
    if (level == Level::problem) ++problems_;
  }
  void add(const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) add(finding.level, finding.text);
  }
  [[nodiscard]] int exit_code() const { return problems_ == 0 ? kSuccess : kFailure; }

 private:
  int problems_ = 0;
};

auth::TlsFiles files_of(const config::TlsFiles& tls) {
  return {tls.cert, tls.key, tls.ca};
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

void check_agent(Report& report, const config::ServeSettings& settings) {
  for (const config::Address& address : settings.listen)
    report.add(Level::ok, "listens on " + to_string(address));
  if (settings.insecure_loopback) {
    report.add(Level::warning, "listens on " + to_string(*settings.insecure_loopback) +
                                   " without TLS: every process of this host may use it");
  }
  if (!settings.listen.empty()) report.add(auth::check_tls_files(files_of(settings.tls), auth::Side::server));
  const auto allowed =
      auth::AllowList::make({settings.allow.cn, settings.allow.dns, settings.allow.uri, settings.allow.all});
  if (!allowed) {
    report.add(Level::problem, allowed.error().message());
  } else if (settings.allow.all) {
    report.add(Level::warning, "every certificate of the CA is allowed (--allow-all)");
  } else {
    const std::size_t rules =
        settings.allow.cn.size() + settings.allow.dns.size() + settings.allow.uri.size();
    report.add(Level::ok, std::to_string(rules) + " rules say who may connect");
  }
  for (const std::string& path : settings.search)
    check_directory(report, "search directory", path, R_OK | X_OK);
  for (const config::NamedSocket& named : settings.runtimes) {
    report.add(Level::ok, "the runtime " + named.name + " is expected at " + named.path);
  }
  for (const std::string& path : settings.diagnostic_ports) {
    check_directory(report, "runtimes dial in at " + path + ": the directory",
                    std::filesystem::path(path).parent_path(), W_OK | X_OK);
  }
}

void check_mirror(Report& report, const config::ConnectSettings& settings) {
  for (const config::RemoteSettings& remote : settings.remotes) {
    for (const config::Address& address : remote.addresses)
      report.add(Level::ok, "dials " + to_string(address));
    report.add(auth::check_tls_files(files_of(remote.tls), auth::Side::client));
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
  Report report;
  const auto explain = [&](const auto& settings, auto check_settings) {
    if (settings) {
      check_settings(report, *settings);
    } else {
      for (const std::string& problem : settings.error()) report.add(Level::problem, problem);
    }
  };
  if (flags.remotes.empty()) {
    explain(config::resolve_serve(flags), check_agent);
  } else {
    explain(config::resolve_connect(flags), check_mirror);
  }
  return report.exit_code();
}

}  // namespace farport::cli
