#include "config/resolve.hpp"

#include <algorithm>
#include <filesystem>

#include "config/grants.hpp"
#include "config/values.hpp"

namespace farport::config {
namespace {

/// Collects problems while settings are put together.
class Resolver {
 public:
  Resolver(const Flags& flags, bool own_file) : flags_(flags) {
    std::string path = flags.config.value_or("");
    std::error_code error;
    if (path.empty() && own_file) {
      path = default_file();
      if (!std::filesystem::exists(path, error)) path.clear();
    }
    if (path.empty()) return;
    auto file = read_file(path);
    if (file) {
      file_ = std::move(*file);
    } else {
      problems_ = std::move(file.error());
    }
  }

  [[nodiscard]] const File& file() const { return file_; }
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

  std::string chosen(const Choice& choice, const std::string& text) {
    return parsed(text, [&](std::string_view word) { return parse_choice(choice, word); }).value_or("");
  }

  /// The values of a flag that may be given several times; the file's where it isn't given.
  template <typename T>
  std::vector<T> many(const std::vector<std::string>& flag, Result<T> (*parse)(std::string_view),
                      const std::vector<T>& from_file) {
    if (flag.empty()) return from_file;
    std::vector<T> values;
    for (const std::string& text : flag) {
      if (auto value = parsed(text, parse)) values.push_back(std::move(*value));
    }
    return values;
  }
  static std::vector<std::string> many(const std::vector<std::string>& flag,
                                       const std::vector<std::string>& from_file) {
    return flag.empty() ? from_file : flag;
  }

  [[nodiscard]] TlsFiles tls(const TlsFiles& from_file) const {
    return {flags_.tls_cert.value_or(from_file.cert), flags_.tls_key.value_or(from_file.key),
            flags_.tls_ca.value_or(from_file.ca), flags_.tls_crl.value_or(from_file.crl)};
  }
  [[nodiscard]] LogSettings log() const {
    return {flags_.log_level.value_or(file_.log.level), flags_.log_format.value_or(file_.log.format)};
  }

  void take_duration(const std::optional<std::string>& flag, Milliseconds& into) {
    if (flag) into = parsed(*flag, parse_duration).value_or(into);
  }
  SessionSettings session() {
    SessionSettings session = file_.session;
    take_duration(flags_.grace, session.grace);
    take_duration(flags_.ping_interval, session.ping_interval);
    take_duration(flags_.ping_timeout, session.ping_timeout);
    if (flags_.compression) session.compression = chosen(compression_choice(), *flags_.compression);
    return session;
  }

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
    if (const auto profile = file_.remotes.find(text); profile != file_.remotes.end()) {
      remote = profile->second;
    } else if (text.find(':') == std::string::npos) {
      problem(no_such_profile(text));
      return std::nullopt;
    } else if (auto address = parsed(text, parse_address)) {
      remote.addresses.push_back(std::move(*address));
    } else {
      return std::nullopt;
    }
    const TlsFiles& own = remote.tls;
    // CRLs belong to their CA.
    const std::string& crl = own.ca.empty() && own.crl.empty() ? file_.tls.crl : own.crl;
    remote.tls = tls({own.cert.empty() ? file_.tls.cert : own.cert, own.key.empty() ? file_.tls.key : own.key,
                      own.ca.empty() ? file_.tls.ca : own.ca, crl});
    if (flags_.server_name) remote.server_name = *flags_.server_name;
    if (!flags_.verify_cn.empty()) remote.verify.cn = flags_.verify_cn;
    if (!flags_.verify_uri.empty()) remote.verify.uri = flags_.verify_uri;
    if (!flags_.verify_pin.empty()) remote.verify.pin = flags_.verify_pin;
    if (!flags_.select.empty()) remote.select = flags_.select;
    require_tls(remote.tls, text);
    return remote;
  }

  std::vector<RemoteSettings> remotes() {
    std::vector<RemoteSettings> all;
    for (const std::string& text : flags_.remotes) {
      if (auto one = remote(text)) all.push_back(std::move(*one));
    }
    return all;
  }

 private:
  [[nodiscard]] std::string no_such_profile(const std::string& text) const {
    std::vector<std::string> profiles;
    for (const auto& [name, remote] : file_.remotes) profiles.push_back(name);
    const std::string meant = nearest(text, profiles);
    return "no remote \"" + text + "\": " +
           (meant.empty() ? "give HOST:PORT, or a profile of [remotes] in the configuration file"
                          : "did you mean \"" + meant + "\"?");
  }

  const Flags& flags_;
  File file_;
  Problems problems_;
};

bool is_loopback(const Address& address) {
  return address.host == "localhost" || address.host == "::1" || address.host.starts_with("127.");
}

std::string absolute(const std::string& path) {
  std::error_code error;
  return std::filesystem::absolute(path, error).lexically_normal().string();
}

std::vector<auth::Grant> grants_of(const Flags& flags) {
  std::vector<auth::Grant> grants;
  for (const std::string& text : flags.allow_cn) grants.push_back(short_grant(GrantKind::cn, text));
  for (const std::string& text : flags.allow_dns) grants.push_back(short_grant(GrantKind::dns, text));
  for (const std::string& text : flags.allow_uri) grants.push_back(short_grant(GrantKind::uri, text));
  for (const std::string& text : flags.allow_ip) grants.push_back(short_grant(GrantKind::ip, text));
  if (flags.allow_all) grants.push_back(allow_all(*flags.allow_all));
  return grants;
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
  if (settings.listen.empty() && !settings.insecure_loopback) {
    resolver.problem("nothing to listen on: give --listen ADDR:PORT, such as --listen 0.0.0.0:9000");
  }
  if (settings.insecure_loopback && !is_loopback(*settings.insecure_loopback)) {
    resolver.problem("--insecure-loopback " + to_string(*settings.insecure_loopback) +
                     " is not a loopback address: without TLS use only 127.0.0.1 or [::1]");
  }
  if (!settings.dump.runtime_directory.empty() && settings.dump.directory.empty()) {
    resolver.problem("dump.runtime_directory says where runtimes see dump.directory, which is not given");
  }
  if (settings.listen.empty()) return;
  resolver.require_tls(settings.tls, "the agent");
  if (settings.policy.grants.empty()) {
    resolver.problem(
        "nobody could connect: give --allow-cn NAME[=ROLE], --allow-dns, --allow-uri, --allow-ip or "
        "--allow-all, or "
        "[[grants]] in the configuration file");
  }
}

}  // namespace

Resolved<ServeSettings> resolve_serve(const Flags& flags) {
  Resolver resolver(flags, false);
  const File& file = resolver.file();
  ServeSettings settings;
  settings.host_name = flags.host_name.value_or(file.host_name);
  settings.listen = resolver.many(flags.listen, parse_address, file.listen);
  settings.reuse_port = flags.reuse_port || file.reuse_port;
  const std::string loopback = flags.insecure_loopback.value_or(file.insecure_loopback);
  if (!loopback.empty()) {
    const auto [address, role] = split_role(loopback);
    settings.insecure_loopback = resolver.parsed(address, parse_address);
    settings.policy.loopback_role = role;
  }
  settings.tls = resolver.tls(file.tls);
  settings.log = resolver.log();
  settings.search = Resolver::many(flags.search, file.search);
  settings.runtimes = resolver.many(flags.runtime, parse_named_socket, file.named);
  settings.diagnostic_ports = resolver.many(flags.diagnostic_port, parse_path, file.diagnostic_ports);
  settings.resume_after = file.resume_after;
  if (flags.resume_after) settings.resume_after = resolver.parsed(*flags.resume_after, parse_duration);
  if (settings.search.empty()) settings.search.push_back(temporary_directory());
  settings.policy.roles = file.roles;
  // The grants come from one place: flags that narrow must not be widened by a file.
  settings.policy.grants = grants_of(flags);
  if (settings.policy.grants.empty()) settings.policy.grants = file.grants;
  settings.audit = file.audit;
  settings.audit_waits = file.audit_waits;
  if (flags.audit) settings.audit = resolver.parsed(*flags.audit, parse_audit).value_or("");
  settings.dump = file.dump;
  if (flags.dump_directory) settings.dump.directory = absolute(*flags.dump_directory);
  if (flags.dump_runtime_directory) settings.dump.runtime_directory = *flags.dump_runtime_directory;
  settings.confinement = file.confinement;
  if (flags.user) settings.confinement.user = *flags.user;
  if (flags.confine) {
    settings.confinement.mode = resolver.chosen(confinement_choice(), *flags.confine);
  }
  settings.rescan = file.rescan;
  settings.limits = file.limits;
  for (const std::string& limit : flags.limit) {
    const Result<void> set = set_limit(settings.limits, limit);
    if (!set) resolver.problem(set.error().message());
  }
  settings.session = resolver.session();
  settings.drain = file.drain;
  resolver.take_duration(flags.drain, settings.drain);
  if (resolver.ok()) check_serve(resolver, settings);
  if (!resolver.ok()) return tl::unexpected(resolver.take_problems());
  return settings;
}

Resolved<ConnectSettings> resolve_connect(const Flags& flags) {
  Resolver resolver(flags, true);
  ConnectSettings settings;
  settings.remotes = resolver.remotes();
  settings.socket_dir = flags.socket_dir.value_or(resolver.file().socket_dir);
  if (settings.socket_dir.empty()) settings.socket_dir = temporary_directory();
  settings.socket_dir = absolute(settings.socket_dir);
  settings.sockets = resolver.many<NamedSocket>(flags.socket, parse_named_socket, {});
  settings.tools = resolver.many<NamedSocket>(flags.to, parse_tool_socket, {});
  settings.json = flags.json;
  settings.detach = flags.detach;
  if (flags.log_file) settings.log_file = absolute(*flags.log_file);
  settings.session = resolver.session();
  settings.log = resolver.log();
  settings.log_level_given = flags.log_level.has_value() || resolver.file().has_log_level;
  if (!resolver.ok()) return tl::unexpected(resolver.take_problems());
  return settings;
}

Resolved<PsSettings> resolve_ps(const Flags& flags) {
  Resolver resolver(flags, true);
  PsSettings settings{resolver.remotes(), flags.json};
  if (!resolver.ok()) return tl::unexpected(resolver.take_problems());
  return settings;
}

Resolved<CanISettings> resolve_can_i(const Flags& flags) {
  Resolver resolver(flags, true);
  CanISettings settings{resolver.remotes(), flags.command, flags.all, flags.json};
  if (!resolver.ok()) return tl::unexpected(resolver.take_problems());
  return settings;
}

Resolved<DumpCommandSettings> resolve_dump(const Flags& flags) {
  Resolver resolver(flags, true);
  DumpCommandSettings settings;
  const std::string& target = flags.dump_target;
  const std::size_t slash = target.find('/');
  if (auto remote = resolver.remote(target.substr(0, slash))) settings.remote = std::move(*remote);
  if (slash != std::string::npos) settings.runtime = target.substr(slash + 1);
  settings.output = flags.output;
  settings.type = flags.dump_type;
  settings.stay = flags.stay;
  settings.force = flags.force;
  settings.session = resolver.session();
  if (settings.stay && !settings.output.empty()) {
    resolver.problem("--stay leaves the dump on the runtime's host: it takes no --output");
  }
  if (!resolver.ok()) return tl::unexpected(resolver.take_problems());
  return settings;
}

Resolved<RunSettings> resolve_run(const Flags& flags) {
  Resolver resolver(flags, true);
  RunSettings settings;
  settings.remotes = resolver.remotes();
  settings.tool = flags.tool;
  settings.session = resolver.session();
  settings.log = resolver.log();
  settings.log_level_given = flags.log_level.has_value() || resolver.file().has_log_level;
  if (settings.tool.empty()) {
    resolver.problem("no tool to run: write it after --, as in: farport run HOST:PORT -- dotnet-trace ps");
  }
  settings.resolve_remote = [flags](const std::string& text) -> Result<RemoteSettings> {
    Resolver again(flags, true);
    auto remote = again.remote(text);
    if (again.ok() && remote) return std::move(*remote);
    return fail("use the remote", text, again.take_problems().front());
  };
  if (!resolver.ok()) return tl::unexpected(resolver.take_problems());
  return settings;
}

}  // namespace farport::config
