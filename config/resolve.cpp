#include "config/resolve.hpp"

#include <algorithm>
#include <filesystem>

#include "config/assign.hpp"
#include "config/values.hpp"

namespace farport::config {
namespace {

/// Collects problems while settings are put together.
class Resolver {
 public:
  /// `command`: whose flags count.
  Resolver(const Flags& flags, std::string_view command) : flags_(flags), command_(command) {
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

  [[nodiscard]] const Configuration& configuration() const { return configuration_; }
  [[nodiscard]] bool ok() const { return problems_.empty(); }
  [[nodiscard]] Problems take_problems() { return std::move(problems_); }
  void problem(std::string text) { problems_.push_back(std::move(text)); }

  template <typename Parse>
  auto parsed(const std::string& text, Parse parse) {
    auto value = parse(text);
    using Value = typename decltype(value)::value_type;
    if (value) return std::optional<Value>(std::move(*value));
    problem(value.error().message());
    return std::optional<Value>();
  }

  [[nodiscard]] LogSettings log() const {
    LogSettings log = configuration_.log;
    if (log.level.empty()) log.level = LogSettings{}.level;
    return log;
  }
  [[nodiscard]] bool log_level_given() const { return !configuration_.log.level.empty(); }

  void require_tls(const TlsFiles& tls, const std::string& what_for) {
    if (tls.cert.empty() && tls.key.empty() && tls.ca.empty()) {
      problem(
          "no certificates for " + what_for +
          ": give --tls-cert, --tls-key and --tls-ca, or set FARPORT_TLS_CERT, FARPORT_TLS_KEY and "
          "FARPORT_TLS_CA, or tls.cert, tls.key and tls.ca in the configuration file (farport certs makes "
          "certificates)");
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

  /// A remote by HOST:PORT or profile.
  std::optional<RemoteSettings> remote(const std::string& text) {
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

  /// The remote that is behind --via; nothing where that is not given.
  std::optional<RemoteSettings> via() {
    RemoteSettings remote;
    Problems said_elsewhere;
    assign(flags_.given, command_, remote, said_elsewhere);
    if (remote.via.empty()) return std::nullopt;
    const std::string text = remote.via;
    return completed(std::move(remote), text);
  }

  std::vector<RemoteSettings> remotes() {
    std::vector<RemoteSettings> all;
    for (const std::string& text : flags_.remotes) {
      if (auto one = remote(text)) all.push_back(std::move(*one));
    }
    auto behind = via();
    if (behind && !flags_.remotes.empty()) problem("--via reaches an agent by itself: name no other one");
    if (behind) all.push_back(std::move(*behind));
    return all;
  }

  /// The same where there must be one.
  std::vector<RemoteSettings> some_remotes() {
    std::vector<RemoteSettings> all = remotes();
    if (all.empty() && ok()) {
      problem("no agent is named: give HOST:PORT, ssh://HOST, a profile of the configuration file, or --via");
    }
    return all;
  }

 private:
  [[nodiscard]] std::string no_such_profile(const std::string& text) const {
    std::vector<std::string> profiles;
    for (const auto& [name, remote] : configuration_.remotes) profiles.push_back(name);
    const std::string meant = nearest(text, profiles);
    return "no remote \"" + text + "\": " +
           (meant.empty() ? "give HOST:PORT, or a profile of [remotes] in the configuration file"
                          : "did you mean \"" + meant + "\"?");
  }

  /// The file that is named; but for serve, else the user's own where there is one.
  [[nodiscard]] std::string file_path() const {
    const auto named = flags_.given.find("config");
    if (named != flags_.given.end() && !named->second.front().empty()) return named->second.front();
    if (command_ == "serve") return {};
    std::error_code error;
    const std::string path = default_file();
    return std::filesystem::exists(path, error) ? path : std::string();
  }

  std::optional<RemoteSettings> completed(RemoteSettings remote, const std::string& text) {
    complete(remote.tls);
    assign(flags_.given, command_, remote, problems_);
    const int ways =
        (remote.addresses.empty() ? 0 : 1) + (remote.reach.empty() ? 0 : 1) + (remote.via.empty() ? 0 : 1);
    if (ways != 1) problem("the remote " + text + " needs one of address, reach and via");
    // A command brings its own way to know the other side.
    if (!remote.addresses.empty()) require_tls(remote.tls, text);
    return remote;
  }

  /// What a remote's own table leaves out is that of [tls].
  void complete(TlsFiles& own) const {
    const TlsFiles& common = configuration_.tls;
    // CRLs belong to their CA.
    if (own.ca.empty() && own.crl.empty()) own.crl = common.crl;
    if (own.ca.empty()) own.ca = common.ca;
    if (own.cert.empty()) own.cert = common.cert;
    if (own.key.empty()) own.key = common.key;
  }

  const Flags& flags_;
  std::string_view command_;
  Configuration configuration_;
  Problems problems_;
};

struct DumpTarget {
  std::string agent;
  std::string runtime;
};

/// "AGENT/RUNTIME", where an agent that is reached by a command has slashes of its own: its runtime stands
/// behind a double one.
DumpTarget split_dump_target(const std::string& text) {
  const std::string_view separator = is_reach(text) ? "//" : "/";
  const std::size_t from = is_reach(text) ? text.find("://") + 3 : 0;
  const std::size_t end = text.find(separator, from);
  if (end == std::string::npos) return {text, {}};
  return {text.substr(0, end), text.substr(end + separator.size())};
}

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
  if (settings.listen.empty() && settings.local.empty() && !settings.insecure_loopback) {
    resolver.problem("nothing to listen on: give --listen ADDR:PORT, such as --listen 0.0.0.0:9000");
  }
  if (settings.insecure_loopback && !is_loopback(*settings.insecure_loopback)) {
    resolver.problem("--insecure-loopback " + to_string(*settings.insecure_loopback) +
                     " is not a loopback address: without TLS use only 127.0.0.1 or [::1]");
  }
  if (!settings.dump.runtime_directory.empty() && settings.dump.directory.empty()) {
    resolver.problem("dump.runtime_directory says where runtimes see dump.directory, which is not given");
  }
  if (settings.listen.empty() && settings.local.empty()) return;
  if (!settings.listen.empty()) resolver.require_tls(settings.tls, "the agent");
  if (settings.policy.grants.empty()) {
    resolver.problem(
        "nobody could connect: give --allow-cn NAME[=ROLE], --allow-dns, --allow-uri, --allow-ip, "
        "--allow-local or --allow-all, or "
        "[[grants]] in the configuration file");
  }
}

}  // namespace

Resolved<ServeSettings> resolve_serve(const Flags& flags) {
  Resolver resolver(flags, "serve");
  const Configuration& from = resolver.configuration();
  ServeSettings settings;
  settings.host_name = from.host_name;
  settings.listen = from.listen;
  settings.local = from.local;
  settings.reuse_port = from.reuse_port;
  if (!from.insecure_loopback.empty()) {
    const auto [address, role] = split_role(from.insecure_loopback);
    settings.insecure_loopback = resolver.parsed(address, parse_address);
    settings.policy.loopback_role = role;
  }
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
  settings.confinement = from.confinement;
  settings.rescan = from.rescan;
  settings.limits = from.limits;
  settings.session = from.session;
  settings.drain = from.drain;
  if (resolver.ok()) check_serve(resolver, settings);
  if (!resolver.ok()) return tl::unexpected(resolver.take_problems());
  return settings;
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
  if (!resolver.ok()) return tl::unexpected(resolver.take_problems());
  return settings;
}

Resolved<PsSettings> resolve_ps(const Flags& flags) {
  Resolver resolver(flags, "ps");
  PsSettings settings{resolver.some_remotes(), flags.json};
  if (!resolver.ok()) return tl::unexpected(resolver.take_problems());
  return settings;
}

Resolved<CanISettings> resolve_can_i(const Flags& flags) {
  Resolver resolver(flags, "can-i");
  CanISettings settings{resolver.some_remotes(), flags.command, flags.all, flags.json};
  if (!resolver.ok()) return tl::unexpected(resolver.take_problems());
  return settings;
}

Resolved<DumpCommandSettings> resolve_dump(const Flags& flags) {
  Resolver resolver(flags, "dump");
  DumpCommandSettings settings;
  const DumpTarget target = split_dump_target(flags.dump_target);
  if (auto behind = resolver.via()) {
    settings.remote = std::move(*behind);
    settings.runtime = flags.dump_target;
  } else if (target.agent.empty()) {
    resolver.problem("no agent is named: give AGENT or AGENT/RUNTIME, or --via");
  } else if (auto remote = resolver.remote(target.agent)) {
    settings.remote = std::move(*remote);
    settings.runtime = target.runtime;
  }
  settings.output = flags.output;
  settings.type = flags.dump_type;
  settings.stay = flags.stay;
  settings.force = flags.force;
  settings.session = resolver.configuration().session;
  if (settings.stay && !settings.output.empty()) {
    resolver.problem("--stay leaves the dump on the runtime's host: it takes no --output");
  }
  if (!resolver.ok()) return tl::unexpected(resolver.take_problems());
  return settings;
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
  if (!resolver.ok()) return tl::unexpected(resolver.take_problems());
  return settings;
}

}  // namespace farport::config
