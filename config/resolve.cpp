#include "config/resolve.hpp"

#include <algorithm>

#include "config/resolver.hpp"
#include "config/values.hpp"

namespace farport::config {
namespace {

bool is_loopback(const Address& address) {
  return address.host == "localhost" || address.host == "::1" || address.host.starts_with("127.");
}

/// A name that can be typed and shown: it stands behind the @ of a runtime's name.
bool is_host_name(const std::string& name) {
  constexpr std::size_t kLongest = 255;
  return name.size() <= kLongest && std::all_of(name.begin(), name.end(), [](char c) {
           return c > ' ' && c < 0x7F && std::string_view("@*?[]/,").find(c) == std::string_view::npos;
         });
}

void check_serve(Resolver& resolver, const ServeSettings& settings) {
  if (!is_host_name(settings.host_name)) {
    resolver.problem("the host name \"" + settings.host_name +
                     "\" can't be used: give 1 to 255 printable ASCII characters, without @ * ? [ ] / and ,");
  }
  const bool secured = settings.uses_tls();
  if (!secured && settings.local.empty() && !settings.insecure_loopback) {
    resolver.problem(
        "nothing to listen on: give --listen ADDR:PORT, such as --listen 0.0.0.0:9000, or --dial");
  }
  if (settings.insecure_loopback && !is_loopback(*settings.insecure_loopback)) {
    resolver.problem("--insecure-loopback " + to_string(*settings.insecure_loopback) +
                     " is not a loopback address: without TLS use only 127.0.0.1 or [::1]");
  }
  if (!settings.dump.runtime_directory.empty() && settings.dump.directory.empty()) {
    resolver.problem("dump.runtime_directory says where runtimes see dump.directory, which is not given");
  }
  if (!secured && settings.local.empty()) return;
  if (secured) resolver.require_tls(settings.tls, "the agent");
  if (settings.policy.grants.empty()) {
    resolver.problem(
        "nobody could connect: give --allow-cn NAME[=ROLE], --allow-dns, --allow-uri, --allow-ip, "
        "--allow-local or --allow-all, or "
        "[[grants]] in the configuration file");
  }
}

/// Not checked as a whole.
ServeSettings serve_settings(Resolver& resolver) {
  const Configuration& from = resolver.configuration();
  ServeSettings settings;
  settings.host_name = from.host_name;
  settings.listen = from.listen;
  settings.socket_activation = from.socket_activation;
  for (const Address& mirror : from.dial) {
    const bool known = std::find(settings.dial.begin(), settings.dial.end(), mirror) != settings.dial.end();
    if (!known) settings.dial.push_back(mirror);
  }
  if (!settings.dial.empty()) settings.proxy = resolver.proxy();
  settings.local = from.local;
  settings.reuse_port = from.reuse_port;
  if (!from.insecure_loopback.empty()) {
    const auto [address, role] = split_role(from.insecure_loopback);
    settings.insecure_loopback = resolver.parsed(address, parse_address);
    settings.policy.loopback_role = role;
  }
  if (!from.admin.empty()) settings.admin = resolver.parsed(from.admin, parse_admin_address);
  settings.tls = from.tls;
  settings.log = resolver.log();
  settings.search = from.search;
  settings.search_processes = std::erase(settings.search, kSearchProcesses) > 0;
  if (settings.search.empty() && !settings.search_processes) settings.search.push_back(temporary_directory());
  settings.runtimes = from.named;
  settings.diagnostic_ports = from.diagnostic_ports;
  if (from.resume_after.count() > 0) settings.resume_after = from.resume_after;
  settings.policy.roles = from.roles;
  settings.policy.grants = from.grants;
  settings.audit = from.audit;
  settings.audit_waits = from.audit_waits;
  settings.dump = from.dump;
  settings.app_metrics = from.app_metrics;
  settings.confinement = from.confinement;
  settings.rescan = from.rescan;
  settings.limits = from.limits;
  settings.session = from.session;
  settings.drain = from.drain;
  return settings;
}

}  // namespace

Resolved<ServeSettings> resolve_serve(const Flags& flags) {
  Resolver resolver(flags, "serve");
  ServeSettings settings = serve_settings(resolver);
  if (resolver.ok()) check_serve(resolver, settings);
  return resolver.finished(std::move(settings));
}

Resolved<ConnectSettings> resolve_connect(const Flags& flags) {
  Resolver resolver(flags, "connect");
  const Configuration& from = resolver.configuration();
  ConnectSettings settings;
  settings.remotes = resolver.some_remotes();
  settings.socket_dir = from.socket_dir.empty() ? *parse_path(temporary_directory()) : from.socket_dir;
  settings.sockets = from.sockets;
  settings.tools = from.tools;
  settings.json = flags.json;
  settings.detach = flags.detach;
  settings.log_file = from.log_file;
  settings.session = from.session;
  settings.log = resolver.log();
  settings.log_level_given = resolver.log_level_given();
  return resolver.finished(std::move(settings));
}

Resolved<PsSettings> resolve_ps(const Flags& flags) {
  Resolver resolver(flags, "ps");
  PsSettings settings{resolver.some_remotes(), flags.json};
  return resolver.finished(std::move(settings));
}

Resolved<DoctorSettings> resolve_doctor(const Flags& flags) {
  Resolver resolver(flags, "doctor");
  DoctorSettings settings{resolver.remotes(), serve_settings(resolver), flags.json};
  return resolver.finished(std::move(settings));
}

Resolved<CanISettings> resolve_can_i(const Flags& flags) {
  Resolver resolver(flags, "can-i");
  CanISettings settings{resolver.some_remotes(), flags.command, flags.all, flags.json};
  return resolver.finished(std::move(settings));
}

Resolved<RunSettings> resolve_run(const Flags& flags) {
  Resolver resolver(flags, "run");
  RunSettings settings;
  settings.remotes = resolver.remotes();
  settings.tool = flags.tool;
  settings.session = resolver.configuration().session;
  settings.log = resolver.log();
  settings.log_level_given = resolver.log_level_given();
  if (settings.tool.empty()) {
    resolver.problem("no tool to run: write it after --, as in: farport run HOST:PORT -- dotnet-trace ps");
  }
  settings.resolve_remote = [flags](const std::string& text) -> Result<RemoteSettings> {
    Resolver again(flags, "run");
    auto remote = again.remote(text);
    if (again.ok() && remote) return std::move(*remote);
    return fail("use the remote", text, again.take_problems().front());
  };
  return resolver.finished(std::move(settings));
}

}  // namespace farport::config
