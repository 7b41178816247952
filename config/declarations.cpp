#include "config/declarations.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "config/values.hpp"

namespace farport::config {
namespace {

constexpr std::string_view kConnect[] = {"connect"};
constexpr std::string_view kProfile[] = {"profile"};
constexpr std::string_view kMirror[] = {"connect", "check"};
constexpr std::string_view kSelecting[] = {"connect", "run", "check"};
constexpr std::string_view kAccepting[] = {"connect", "run", "artifacts"};
constexpr std::string_view kDialling[] = {"connect",  "run",    "ps",     "dump",       "trace",
                                          "counters", "top",    "logs",   "exceptions", "stacks",
                                          "profile",  "gcdump", "recent", "crashes",    "artifacts",
                                          "rules",    "can-i",  "check",  "doctor"};
constexpr std::string_view kSessions[] = {"serve",    "connect", "run",    "dump",       "trace",
                                          "counters", "top",     "logs",   "exceptions", "stacks",
                                          "profile",  "gcdump",  "recent", "artifacts",  "check"};
constexpr std::string_view kAll[] = {"serve",     "connect",  "run",    "ps",     "dump",
                                     "trace",     "counters", "top",    "logs",   "exceptions",
                                     "stacks",    "profile",  "gcdump", "recent", "crashes",
                                     "artifacts", "rules",    "can-i",  "check",  "doctor"};

const Choice& log_level_choice() {
  static const Choice choice{"log at the level", {"trace", "debug", "info", "warn", "error", "off"}};
  return choice;
}
const Choice& log_format_choice() {
  static const Choice choice{"log as", {"text", "json"}};
  return choice;
}
const Choice& compression_choice() {
  static const Choice choice{"compress traces and dumps", {"auto", "always", "never"}};
  return choice;
}

const Choice& deploy_choice() {
  static const Choice choice{"deploy farport by", {"auto", "never", "ephemeral", "copy"}};
  return choice;
}

template <typename Part>
void append(std::vector<Part>& all, std::vector<Part> more) {
  all.insert(all.end(), more.begin(), more.end());
}

/// The TLS files, at the top of the configuration file and below each remote. The flags set both.
/// `otherwise`: describes what is used if they are not given.
template <typename Target>
std::vector<Setting<Target>> tls_settings(std::string_view otherwise) {
  using K = Kinds<Target>;
  using T = Target;
  std::vector<Setting<T>> all{
      {.key = "tls.cert",
       .value = "FILE",
       .help = "Certificate to present to the other side, PEM",
       .details = "Reloaded when the file changes, like the key, the CA and the CRLs. See "
                  "[certificates](certificates.md).",
       .default_text = otherwise,
       .kind = typename K::Path{at<&T::tls, &TlsFiles::cert>}},
      {.key = "tls.key",
       .value = "FILE",
       .help = "Private key of the certificate, PEM",
       .default_text = otherwise,
       .kind = typename K::Path{at<&T::tls, &TlsFiles::key>}},
      {.key = "tls.ca",
       .value = "FILE",
       .help = "CA to verify the other side's certificate against, PEM",
       .default_text = otherwise,
       .kind = typename K::Path{at<&T::tls, &TlsFiles::ca>}},
      {.key = "tls.bundle",
       .value = "FILE",
       .help = "Certificate, private key and CA in one PEM file, instead of three files",
       .details = "Created by `farport certs bundle`: see [bundles](certificates.md#bundles).",
       .default_text = "none",
       .kind = typename K::Path{at<&T::tls, &TlsFiles::bundle>}},
      {.key = "tls.passphrase_file",
       .value = "FILE",
       .help = "File whose first line is the passphrase of an encrypted bundle",
       .details = "Reloaded when the file changes.",
       .default_text = "prompt on the terminal",
       .kind = typename K::Path{at<&T::tls, &TlsFiles::passphrase_file>}},
      {.key = "tls.crl",
       .value = "FILE",
       .help = "Certificate revocation lists for the other side, PEM: one for each of its CAs",
       .details = "See [revocation](certificates.md#revocation).",
       .default_text = "none",
       .kind = typename K::Path{at<&T::tls, &TlsFiles::crl>}},
  };
  complete(all, kAll);
  return all;
}

/// Settings of the mirror only, without those of its remotes.
std::vector<Setting<Configuration>> mirror_settings() {
  using C = Configuration;
  using K = Kinds<C>;
  return {
      {.key = "remotes",
       .value = "HOST:PORT",
       .help = "Profiles: agents and their settings, by a name of your choice",
       .default_text = "none",
       .commands = kDialling,
       .kind = K::Remotes{at<&C::remotes>}},
      {.key = "connect.socket_dir",
       .flag = "socket-dir",
       .value = "DIR",
       .help = "Directory in which to create the mirrored runtimes' diagnostic sockets",
       .default_text = "$TMPDIR, else /tmp, where .NET tools look",
       .commands = kMirror,
       .kind = K::Path{at<&C::socket_dir>, true}},
      {.flag = "socket",
       .value = "NAME=PATH",
       .help = "Also create a socket for this runtime at this path, which must not exist yet",
       .default_text = "none",
       .commands = kMirror,
       .kind = K::Sockets{at<&C::sockets>, parse_named_socket}},
      {.flag = "to",
       .value = "[NAME=]PATH",
       .help = "Connect every mirrored runtime, or only NAME, to a tool that listens on this socket",
       .default_text = "none",
       .commands = kMirror,
       .kind = K::Sockets{at<&C::tools>, parse_tool_socket}},
      {.flag = "log-file",
       .value = "FILE",
       .help = "With --detach: log file",
       .default_text = "a new file, chosen by farport",
       .commands = kConnect,
       .kind = K::Path{at<&C::log_file>, true}},
      {.key = "profile.symbols",
       .flag = "symbols",
       .value = "DIR",
       .help = "Directory to search for debug symbols of native code that the runtime's host lacks",
       .details = "Files are found by build id: see [names of native "
                  "functions](guide/recording.md#names-of-native-functions).",
       .default_text = "none",
       .commands = kProfile,
       .kind = K::Paths{at<&C::symbols, &SymbolSettings::directories>}},
      {.key = "profile.symbol_server",
       .flag = "symbol-server",
       .value = "URL",
       .help = "Symbol server (http or https) to query for debug symbols of native code",
       .details = "Only servers named here are queried. Requires curl.",
       .default_text = "none",
       .commands = kProfile,
       .kind = K::Texts{at<&C::symbols, &SymbolSettings::servers>}},
  };
}

/// Settings of both the agent and the mirror.
std::vector<Setting<Configuration>> common_settings() {
  using C = Configuration;
  using K = Kinds<C>;
  std::vector<Setting<C>> all{
      {.key = "session.compression",
       .flag = "compression",
       .value = "WAY",
       .help = "Compress traces and dumps: auto (dumps always, traces while the network is the bottleneck), "
               "always, never",
       .details = "`never` on either side disables compression.",
       .commands = kSessions,
       .kind = K::OneOf{at<&C::session, &SessionSettings::compression>, compression_choice}},
      {.key = "session.grace",
       .flag = "grace",
       .value = "DURATION",
       .help = "How long to keep diagnostic connections after the session breaks, waiting for a reconnect",
       .details = "The shorter of both sides' values applies. See [resuming](developers/wire.md#resuming).",
       .commands = kSessions,
       .kind = K::Duration{at<&C::session, &SessionSettings::grace>}},
      {.key = "session.ping_interval",
       .flag = "ping-interval",
       .value = "DURATION",
       .help = "Ping the other side when nothing has come from it for this long",
       .commands = kSessions,
       .kind = K::Duration{at<&C::session, &SessionSettings::ping_interval>}},
      {.key = "session.ping_timeout",
       .flag = "ping-timeout",
       .value = "DURATION",
       .help = "How long to wait for the answer to a ping before the session counts as broken",
       .commands = kSessions,
       .kind = K::Duration{at<&C::session, &SessionSettings::ping_timeout>}},
      {.key = "proxy",
       .value = "URL",
       .help = "HTTP proxy for outgoing connections, http://[NAME:PASSWORD@]HOST:PORT, or none",
       .details = "Uses the CONNECT method. Loopback addresses and hosts in `NO_PROXY` are dialled directly.",
       .default_text = "$HTTPS_PROXY, else none",
       .kind = K::Text{at<&C::proxy>}},
      {.flag = "config",
       .value = "FILE",
       .help = "Configuration file (TOML)",
       .default_text =
           "$XDG_CONFIG_HOME/farport/config.toml or ~/.config/farport/config.toml; none for serve",
       .kind = K::Path{at<&C::file>}},
  };
  append(all, tls_settings<C>("required"));
  append(
      all,
      {{.key = "log.level",
        .value = "LEVEL",
        .help = "Lowest level to log: trace, debug, info, warn, error or off",
        .default_text = "info; error for run and while the live table is shown",
        .kind = K::OneOf{at<&C::log, &LogSettings::level>, log_level_choice}},
       {.key = "log.format",
        .value = "FORMAT",
        .help = "Log format: text or json",
        .details =
            "If standard error is the systemd journal, text lines have a priority prefix and no timestamp.",
        .kind = K::OneOf{at<&C::log, &LogSettings::format>, log_format_choice}}});
  complete(all, kAll);
  return all;
}

std::vector<Setting<Configuration>> configuration_settings() {
  std::vector<Setting<Configuration>> all = mirror_settings();
  append(all, agent_settings());
  append(all, common_settings());
  return all;
}

std::vector<Setting<RemoteSettings>> remote_settings() {
  using R = RemoteSettings;
  using K = Kinds<R>;
  const auto names = [](K::In<std::vector<std::string>> in) { return K::Texts{in}; };
  std::vector<Setting<R>> all{
      {.key = "address",
       .file_only = true,
       .help = "HOST:PORT of one or several agents",
       .details = "A name that resolves to several addresses stands for the agents at all of them, and is "
                  "followed as they change. See [names](guide/tools.md#names).",
       .default_text = "required",
       .kind = K::Addresses{at<&R::addresses>}},
      {.key = "reach",
       .file_only = true,
       .help =
           "Target to reach without a port: ssh://HOST, docker://NAME, podman://NAME or k8s://NAMESPACE/POD",
       .details = "Replaces `address`. See [without a port](guide/reaching.md#without-a-port).",
       .default_text = "none",
       .kind = K::Text{at<&R::reach>}},
      {.key = "via",
       .value = "COMMAND",
       .help = "Shell command that runs farport stdio beside the runtimes, instead of an agent's address",
       .details = "Its standard input and output carry the session, as with ssh's ProxyCommand.",
       .default_text = "none",
       .kind = K::Text{at<&R::via>}},
      {.key = "deploy",
       .value = "WAY",
       .help = "How to deploy farport to the target: auto, never, ephemeral (a helper container) or copy",
       .details =
           "`auto` chooses the best way for the target. With `never`, farport must be installed there. See "
           "[without a port](guide/reaching.md#without-a-port).",
       .kind = K::OneOf{at<&R::deploy>, deploy_choice}},
      {.key = "image",
       .value = "IMAGE",
       .help = "Image for helper containers, with farport in its PATH",
       .details = "Ephemeral containers in Kubernetes need one that the cluster's nodes can pull.",
       .default_text = "built from the static binary",
       .kind = K::Text{at<&R::image>}},
      {.key = "linger",
       .value = "DURATION",
       .help = "How long a deployed agent keeps running after its last session, for the next command",
       .details = "See [without a port](guide/reaching.md#without-a-port).",
       .kind = K::Duration{at<&R::linger>}},
      {.key = "static_binary",
       .value = "FILE",
       .help = "Statically linked farport to deploy, as built by scripts/build --static",
       .default_text = "the installed one",
       .kind = K::Path{at<&R::static_binary>}},
      {.key = "accept",
       .value = "ADDR:PORT",
       .help = "Listen here for agents that dial out (farport serve --dial), instead of dialling an agent",
       .details = "Accepts any agent's certificate of the CA, unless `server_name` or `verify` narrow it. "
                  "See [agents that dial out](guide/reaching.md#agents-that-dial-out).",
       .default_text = "none",
       .commands = kAccepting,
       .kind = K::Addresses{at<&R::accept>}},
      {.key = "server_name",
       .value = "NAME",
       .help = "DNS name or IP address that the agent's certificate must be valid for",
       .default_text = "the host in the agent's address",
       .kind = K::Text{at<&R::server_name>}},
      {.key = "verify.cn",
       .value = "NAME",
       .help = "Additionally require this common name in the agent's certificate; one of several suffices",
       .details = "See [which agent](certificates.md#which-agent).",
       .default_text = "none",
       .kind = names(at<&R::verify, &auth::IdentityFilter::cn>)},
      {.key = "verify.uri",
       .value = "PATTERN",
       .help = "Additionally require a matching URI in the agent's certificate (* one path segment, final ** "
               "any rest)",
       .default_text = "none",
       .kind = names(at<&R::verify, &auth::IdentityFilter::uri>)},
      {.key = "verify.pin",
       .value = "PIN",
       .help = "Additionally require this public key (a pin, as printed by farport check) in the agent's "
               "certificate",
       .default_text = "none",
       .kind = names(at<&R::verify, &auth::IdentityFilter::pin>)},
      {.key = "verify.ou",
       .file_only = true,
       .help = "Additionally require this organizational unit in the agent's certificate",
       .default_text = "none",
       .kind = names(at<&R::verify, &auth::IdentityFilter::ou>)},
      {.key = "verify.dns",
       .file_only = true,
       .help = "Additionally require this DNS name in the agent's certificate",
       .default_text = "none",
       .kind = names(at<&R::verify, &auth::IdentityFilter::dns>)},
      {.key = "verify.ip",
       .file_only = true,
       .help = "Additionally require this IP address in the agent's certificate",
       .default_text = "none",
       .kind = names(at<&R::verify, &auth::IdentityFilter::ip>)},
      {.key = "select",
       .value = "PATTERN",
       .help = "Mirror only matching runtimes: a name, pid, id or glob",
       .default_text = "all",
       .commands = kSelecting,
       .kind = K::Texts{at<&R::select>}},
  };
  complete(all, kDialling);
  append(all, tls_settings<R>("as in [tls]"));
  return all;
}

}  // namespace

template <>
const std::vector<Setting<Configuration>>& settings() {
  static const std::vector<Setting<Configuration>> all = configuration_settings();
  return all;
}
template <>
const std::vector<Setting<RemoteSettings>>& settings() {
  static const std::vector<Setting<RemoteSettings>> all = remote_settings();
  return all;
}
template <>
const std::vector<Setting<auth::Grant>>& settings() {
  static const std::vector<Setting<auth::Grant>> all = grant_settings();
  return all;
}
template <>
const std::vector<Setting<auth::RoleRule>>& settings() {
  static const std::vector<Setting<auth::RoleRule>> all = role_settings();
  return all;
}
template <>
const std::vector<Setting<RuleSettings>>& settings() {
  static const std::vector<Setting<RuleSettings>> all = rule_settings();
  return all;
}
template <>
const std::vector<Setting<EgressSettings>>& settings() {
  static const std::vector<Setting<EgressSettings>> all = egress_settings();
  return all;
}

namespace {

/// Name of the environment variable for a flag.
std::string variable_of(std::string_view flag) {
  std::string name = "FARPORT_";
  for (const char c : flag)
    name += c == '-' ? '_' : (c >= 'a' && c <= 'z') ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

std::string duration_or_off(Milliseconds duration) {
  return duration.count() == 0 ? "off" : to_string(duration);
}

/// Describes the type and the default of each kind of value.
template <typename Target>
struct Describer {
  using K = Kinds<Target>;

  Description& into;
  Target defaults{};

  void operator()(const typename K::Text& kind) { is("string", Takes::one, kind.in(defaults)); }
  void operator()(const typename K::Texts&) { is("list of strings", Takes::many); }
  void operator()(const typename K::Words&) { is("list of strings or whole numbers", Takes::many); }
  void operator()(const typename K::Numbers&) { is("list of whole numbers", Takes::many); }
  void operator()(const typename K::Count& kind) {
    is("whole number", Takes::one, std::to_string(kind.in(defaults)));
  }
  void operator()(const typename K::Number&) { is("number", Takes::one); }
  void operator()(const typename K::Boolean& kind) {
    is("boolean", Takes::nothing, kind.in(defaults) ? "true" : "false");
  }
  void operator()(const typename K::OneOf& kind) {
    is("choice", Takes::one, kind.in(defaults));
    into.choices = kind.choice().words;
  }
  void operator()(const typename K::Path& kind) { is("path", Takes::one, kind.in(defaults)); }
  void operator()(const typename K::Paths&) { is("list of paths", Takes::many); }
  void operator()(const typename K::Duration& kind) {
    is("duration", Takes::one, to_string(kind.in(defaults)));
  }
  void operator()(const typename K::Size& kind) {
    is("size", Takes::one, bytes_to_string(kind.in(defaults)));
  }
  void operator()(const typename K::Addresses&) { is("list of addresses", Takes::many); }
  void operator()(const typename K::Sockets&) { is("table of paths", Takes::many); }
  void operator()(const typename K::Audit& kind) { is("string", Takes::one, kind.in(defaults)); }
  void operator()(const typename K::Allow&) { is("list of strings", Takes::many); }
  void operator()(const typename K::AllowAll&) { is("boolean or string", Takes::maybe_one); }
  void operator()(const typename K::Limit& kind) {
    const auth::LimitSettings& limits = kind.in(defaults);
    std::visit([&](const auto& range) { describe(range, limits); }, kind.limit->range);
  }
  void operator()(const typename K::AnyLimit&) { is("list of limits", Takes::many); }
  void operator()(const typename K::Roles&) { is("table of roles", Takes::many); }
  void operator()(const typename K::Grants&) { is("list of grants", Takes::many); }
  void operator()(const typename K::Egress&) { is("list of stores", Takes::many); }
  void operator()(const typename K::Rules&) { is("list of rules", Takes::many); }
  void operator()(const typename K::Remotes&) { is("table of remotes", Takes::many); }

 private:
  void is(std::string_view type, Takes takes, std::string default_text = {}) {
    into.type = type;
    into.takes = takes;
    if (into.default_text.empty()) into.default_text = std::move(default_text);
  }
  void describe(const auth::LimitedCount& range, const auth::LimitSettings& limits) {
    is("whole number", Takes::one, std::to_string(limits.*range.member));
    into.bounds = fmt::format("1 to {}", range.most);
  }
  void describe(const auth::LimitedSize& range, const auth::LimitSettings& limits) {
    is("size", Takes::one, bytes_to_string(limits.*range.member));
    into.bounds = fmt::format("{} to {} bytes", range.least, range.most);
  }
  void describe(const auth::LimitedTime& range, const auth::LimitSettings& limits) {
    is(range.may_be_off ? "duration or off" : "duration", Takes::one, duration_or_off(limits.*range.member));
  }
};

/// `prefix`: the sections above the Target's keys.
template <typename Target>
void describe_all(std::string_view prefix, std::vector<Description>& all) {
  for (const Setting<Target>& setting : settings<Target>()) {
    Description& description = all.emplace_back();
    if (!setting.key.empty()) description.key = std::string(prefix) + std::string(setting.key);
    description.flag = setting.flag;
    if (!setting.flag.empty()) description.variable = variable_of(setting.flag);
    description.value = setting.value;
    description.help = setting.help;
    description.details = setting.details;
    description.default_text = setting.default_text;
    for (const std::string_view command : setting.commands) description.commands.emplace_back(command);
    std::visit(Describer<Target>{description}, setting.kind);
  }
}

std::vector<Description> describe_everything() {
  std::vector<Description> all;
  describe_all<Configuration>("", all);
  describe_all<RemoteSettings>("remotes.NAME.", all);
  describe_all<auth::Grant>("grants.", all);
  describe_all<auth::RoleRule>("roles.NAME.", all);
  describe_all<EgressSettings>("egress.", all);
  describe_all<RuleSettings>("rules.", all);
  return all;
}

}  // namespace

bool Description::is_flag_of(std::string_view command) const {
  return !flag.empty() && std::find(commands.begin(), commands.end(), command) != commands.end();
}

const std::vector<Description>& descriptions() {
  static const std::vector<Description> all = describe_everything();
  return all;
}

}  // namespace farport::config
