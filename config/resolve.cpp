#include "config/resolve.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "config/flags.hpp"
#include "config/rules.hpp"
#include "config/values.hpp"

namespace farport::config {

Resolver::Resolver(const Flags& flags, std::string_view command) : flags_(flags), command_(command) {
  const std::string path = file_path();
  if (!path.empty()) {
    auto file = read_file(path);
    if (file) {
      configuration_ = std::move(*file);
    } else {
      problems_ = std::move(file.error());
    }
  }
  assign(flags.given, command, configuration_, problems_);
}

LogSettings Resolver::log() const {
  LogSettings log = configuration_.log;
  if (log.level.empty()) log.level = LogSettings{}.level;
  return log;
}

void Resolver::require_tls(const TlsFiles& tls, const std::string& what_for) {
  const bool none = tls.cert.empty() && tls.key.empty() && tls.ca.empty();
  if (!tls.bundle.empty()) {
    if (none) return;
    problem("both a bundle (" + tls.bundle + ") and single TLS files for " + what_for +
            ": give --tls-bundle, or --tls-cert, --tls-key and --tls-ca, here, in the environment or in the "
            "configuration file");
    return;
  }
  if (!tls.passphrase_file.empty()) {
    problem("a passphrase file for " + what_for + ", but no bundle: give --tls-bundle as well");
  }
  if (none) {
    problem("no certificates for " + what_for +
            ": give --tls-bundle, or --tls-cert, --tls-key and --tls-ca, or set FARPORT_TLS_BUNDLE, or "
            "FARPORT_TLS_CERT, FARPORT_TLS_KEY and FARPORT_TLS_CA, or tls.bundle, or tls.cert, tls.key and "
            "tls.ca in the configuration file (farport certs makes certificates)");
    return;
  }
  const auto require = [&](const std::string& value, const std::string& name, const std::string& variable) {
    if (!value.empty()) return;
    problem("no TLS " + name + " for " + what_for + ": give --tls-" + name + " FILE, " + variable +
            " or tls." + name + " in the configuration file (farport certs makes certificates)");
  };
  require(tls.cert, "cert", "FARPORT_TLS_CERT");
  require(tls.key, "key", "FARPORT_TLS_KEY");
  require(tls.ca, "ca", "FARPORT_TLS_CA");
}

ProxyChoice Resolver::proxy() {
  const std::string& url = configuration_.proxy.empty() ? flags_.https_proxy : configuration_.proxy;
  ProxyChoice choice{{}, flags_.no_proxy};
  if (!url.empty() && url != kNoProxy) choice.proxy = parsed(url, parse_proxy);
  return choice;
}

std::optional<RemoteSettings> Resolver::remote(const std::string& text) {
  RemoteSettings remote;
  if (const auto profile = configuration_.remotes.find(text); profile != configuration_.remotes.end()) {
    remote = profile->second;
  } else if (is_reach(text)) {
    remote.reach = text;
  } else if (text.find(':') == std::string::npos) {
    problem(no_such_profile(text));
    return std::nullopt;
  } else if (auto address = parsed(text, parse_address)) {
    remote.addresses.push_back(std::move(*address));
  } else {
    return std::nullopt;
  }
  return completed(std::move(remote), text);
}

std::optional<RemoteSettings> Resolver::flagged() {
  for (const char* flag : {"via", "accept"}) {
    const auto given = flags_.given.find(flag);
    if (given != flags_.given.end()) return completed(RemoteSettings{}, given->second.front());
  }
  return std::nullopt;
}

std::vector<RemoteSettings> Resolver::remotes() {
  std::vector<RemoteSettings> all;
  for (const std::string& text : flags_.remotes) {
    const Target target = configuration_.remotes.contains(text) ? Target{text, {}} : split_target(text);
    auto one = remote(target.agent);
    if (!one) continue;
    if (!target.runtime.empty() && !can_select()) {
      problem("farport " + std::string(command_) + " is about agents, and " + text +
              " names a runtime: leave out " + target.runtime);
    }
    if (!target.runtime.empty() && flags_.given.contains("select")) {
      problem("both --select and a runtime, in " + text + ": give one of them");
    }
    if (!target.runtime.empty()) {
      one->select = {target.runtime};
    } else if (command_ == "ps") {
      // A profile's `select` applies to mirroring; ps lists all runtimes.
      one->select.clear();
    }
    all.push_back(std::move(*one));
  }
  auto one = flagged();
  if (one && !flags_.remotes.empty())
    problem("--via and --accept reach agents by themselves: name no other ones");
  if (one) all.push_back(std::move(*one));
  return all;
}

/// Whether the command can apply to some of an agent's runtimes.
bool Resolver::can_select() const {
  return command_ == "connect" || command_ == "run" || command_ == "ps";
}

std::vector<RemoteSettings> Resolver::some_remotes() {
  std::vector<RemoteSettings> all = remotes();
  if (all.empty() && ok()) {
    problem("no agent is named: give HOST:PORT, ssh://HOST, a profile of the configuration file, or --via");
  }
  return all;
}

std::string Resolver::no_such_profile(const std::string& text) const {
  std::vector<std::string> profiles;
  for (const auto& [name, remote] : configuration_.remotes) profiles.push_back(name);
  const std::string meant = nearest(text, profiles);
  return "no remote \"" + text + "\": " +
         (meant.empty() ? "give HOST:PORT, or a profile of [remotes] in the configuration file"
                        : "did you mean \"" + meant + "\"?");
}

/// The file named by a flag; otherwise, except for serve, the user's own if it exists.
std::string Resolver::file_path() const {
  const auto named = flags_.given.find("config");
  if (named != flags_.given.end() && !named->second.front().empty()) return named->second.front();
  if (command_ == "serve") return {};
  std::error_code error;
  const std::string path = default_file();
  return std::filesystem::exists(path, error) ? path : std::string();
}

std::optional<RemoteSettings> Resolver::completed(RemoteSettings remote, const std::string& text) {
  complete(remote.tls);
  assign(flags_.given, command_, remote, problems_);
  const int ways = (remote.addresses.empty() ? 0 : 1) + (remote.accept.empty() ? 0 : 1) +
                   (remote.reach.empty() ? 0 : 1) + (remote.via.empty() ? 0 : 1);
  if (ways != 1 && ok()) problem("the remote " + text + " needs one of address, accept, reach and via");
  // A command authenticates the other side itself, so only addresses need TLS.
  if (!remote.addresses.empty() || !remote.accept.empty()) require_tls(remote.tls, text);
  if (!remote.addresses.empty()) remote.proxy = proxy();
  return remote;
}

/// Fills in from [tls] what a remote's own table leaves out.
void Resolver::complete(TlsFiles& own) const {
  const TlsFiles& common = configuration_.tls;
  // CRLs belong to their CA, and a passphrase to its bundle.
  if (own.ca.empty() && own.bundle.empty() && own.crl.empty()) own.crl = common.crl;
  const bool whole = !own.cert.empty() && !own.key.empty() && !own.ca.empty();
  if (whole || !own.bundle.empty()) return;
  if (own.ca.empty()) own.ca = common.ca;
  if (own.cert.empty()) own.cert = common.cert;
  if (own.key.empty()) own.key = common.key;
  own.bundle = common.bundle;
  if (own.passphrase_file.empty()) own.passphrase_file = common.passphrase_file;
}

namespace {

bool is_loopback(const Address& address) {
  return address.host == "localhost" || address.host == "::1" || address.host.starts_with("127.");
}

/// Whether the name can be typed and shown, since it follows the @ in a runtime's name.
bool is_host_name(const std::string& name) {
  constexpr std::size_t kLongest = 255;
  return name.size() <= kLongest && std::all_of(name.begin(), name.end(), [](char c) {
           return c > ' ' && c < 0x7F && std::string_view("@*?[]/,").find(c) == std::string_view::npos;
         });
}

void check_stores(Resolver& resolver, const ServeSettings& settings) {
  if (settings.egress.empty()) return;
  if (settings.artifacts.directory.empty())
    resolver.problem("a store gets what is kept, but nothing is: give --artifacts DIR");
  std::set<std::string_view> names;
  for (const EgressSettings& store : settings.egress) {
    if (!names.insert(store.name).second)
      resolver.problem("two stores have the name " + store.name + ": give each its own");
  }
}

void check_rules(Resolver& resolver, const ServeSettings& settings) {
  if (settings.rules.empty()) return;
  if (settings.artifacts.directory.empty())
    resolver.problem("what rules take is kept, but there is no place for it: give --artifacts DIR");
  std::set<std::string_view> names;
  for (const RuleSettings& rule : settings.rules) {
    if (!names.insert(rule.name).second)
      resolver.problem("two rules have the name " + rule.name + ": give each its own");
    const bool wants_recent = std::ranges::any_of(
        rule.actions, [](const std::string& action) { return parse_rule_action(action)->kind == "recent"; });
    if (wants_recent && !settings.recorder.keep)
      resolver.problem("the rule " + rule.name +
                       " takes what was recorded, but nothing records: give --recorder");
    if (rule.crash && !settings.recorder.keep)
      resolver.problem("the rule " + rule.name + " waits for what the recorder sees: give --recorder");
  }
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
  check_stores(resolver, settings);
  check_rules(resolver, settings);
  if (!secured && settings.local.empty()) return;
  if (secured) resolver.require_tls(settings.tls, "the agent");
  if (settings.policy.grants.empty()) {
    resolver.problem(
        "nobody could connect: give --allow-cn NAME[=ROLE], --allow-dns, --allow-uri, --allow-ip, "
        "--allow-local or --allow-all, or "
        "[[grants]] in the configuration file");
  }
}

/// The settings without cross-checks; see check_serve().
ServeSettings serve_settings(Resolver& resolver) {
  const Configuration& from = resolver.configuration();
  const AgentSettings& common = from;
  ServeSettings settings;
  static_cast<AgentSettings&>(settings) = common;
  settings.dial.clear();
  for (const Address& mirror : from.dial) {
    const bool known = std::find(settings.dial.begin(), settings.dial.end(), mirror) != settings.dial.end();
    if (!known) settings.dial.push_back(mirror);
  }
  if (!settings.dial.empty()) settings.proxy = resolver.proxy();
  if (!from.insecure_loopback.empty()) {
    const auto [address, role] = split_role(from.insecure_loopback);
    settings.insecure_loopback = resolver.parsed(address, parse_address);
    settings.policy.loopback_role = role;
  }
  if (!from.admin.empty()) settings.admin = resolver.parsed(from.admin, parse_admin_address);
  settings.log = resolver.log();
  settings.search_processes = std::erase(settings.search, kSearchProcesses) > 0;
  if (settings.search.empty() && !settings.search_processes) settings.search.push_back(temporary_directory());
  if (from.resume_after.count() > 0) settings.resume_after = from.resume_after;
  settings.policy.roles = from.roles;
  settings.policy.grants = from.grants;
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

Resolved<PsSettings> resolve_ps(const Flags& flags, std::string_view command) {
  Resolver resolver(flags, command);
  PsSettings settings{resolver.some_remotes(), flags.json};
  return resolver.finished(std::move(settings));
}

Resolved<ArtifactsSettings> resolve_artifacts(const Flags& flags, ArtifactsSettings settings) {
  Resolver resolver(flags, "artifacts");
  settings.remotes = resolver.some_remotes();
  settings.json = flags.json;
  settings.session = resolver.configuration().session;
  settings.output = flags.output;
  settings.force = flags.force;
  const int ways =
      (settings.get.empty() ? 0 : 1) + (settings.remove.empty() ? 0 : 1) + (settings.follow.empty() ? 0 : 1);
  if (ways > 1) resolver.problem("give one of --get, --remove and --follow");
  if (settings.get.empty() && (!settings.output.empty() || settings.force))
    resolver.problem("--output and --force are for --get");
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
