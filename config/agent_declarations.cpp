#include "config/declarations.hpp"

namespace farport::config {
namespace {

constexpr std::string_view kAgent[] = {"serve", "check"};
/// Commands for which it matters which runtimes are found on this host, and what can be done with them.
constexpr std::string_view kHere[] = {"serve", "check", "doctor"};

const Choice& confinement_choice() {
  static const Choice choice{"confine the agent as", {"auto", "required", "off"}};
  return choice;
}

std::vector<Setting<Configuration>> own_settings() {
  using C = Configuration;
  using K = Kinds<C>;
  return {
      {.key = "listen",
       .flag = "listen",
       .value = "ADDR:PORT",
       .help = "Address to listen on with TLS",
       .details = "IPv6 addresses stand in brackets.",
       .default_text = "required without another way in",
       .commands = kAgent,
       .kind = K::Addresses{at<&C::listen>}},
      {.key = "socket_activation",
       .flag = "socket-activation",
       .help = "Listen on the sockets that systemd has made for us",
       .details = "As the unit's farport.socket says: TCP sockets with TLS, Unix sockets for users of this "
                  "host as `local`. "
                  "Some must have been passed (sd_listen_fds(3)).",
       .commands = kAgent,
       .kind = K::Boolean{at<&C::socket_activation>}},
      {.key = "dial",
       .flag = "dial",
       .value = "HOST:PORT",
       .help = "Dial a mirror that accepts agents (farport connect --accept), where nobody can dial us",
       .details = "Again and again, for as long as the agent runs. See [agents that dial "
                  "out](guide.md#agents-that-dial-out).",
       .default_text = "none",
       .commands = kAgent,
       .kind = K::Addresses{at<&C::dial>}},
      {.key = "local",
       .flag = "local",
       .value = "PATH",
       .help = "Socket for users of this host, which farport stdio --join joins",
       .details = "The kernel says who they are, and grants what they may do: see [without a port]"
                  "(guide.md#without-a-port).",
       .default_text = "none",
       .commands = kAgent,
       .kind = K::Path{at<&C::local>, true}},
      {.key = "insecure_loopback",
       .flag = "insecure-loopback",
       .value = "ADDR:PORT[=ROLE]",
       .help = "Listen without TLS on a loopback address, for every process of this host",
       .details = "Its callers have the role, `observer` where none is named.",
       .default_text = "none",
       .commands = kAgent,
       .kind = K::Text{at<&C::insecure_loopback>}},
      {.key = "admin",
       .flag = "admin",
       .value = "[ADDR:]PORT",
       .help =
           "Answer /healthz, /readyz and /metrics over plain HTTP there; a port alone is one of 127.0.0.1",
       .details = "No diagnostics, and no certificates: whoever reaches the address reads them. See "
                  "[monitoring](monitoring.md).",
       .default_text = "none",
       .commands = kAgent,
       .kind = K::Text{at<&C::admin>}},
      {.key = "reuse_port",
       .flag = "reuse-port",
       .help = "Share the ports with another agent of this user that does so too, to hand over to it",
       .details = "See [handing over](guide.md#stopping-and-handing-over).",
       .commands = kAgent,
       .kind = K::Boolean{at<&C::reuse_port>}},
      {.key = "host_name",
       .flag = "host-name",
       .value = "NAME",
       .help = "What this host is called, so that NAME@HOST chooses one of its runtimes",
       .details = "In a pod, the system's host name is the pod's name.",
       .default_text = "the system's host name",
       .commands = kAgent,
       .kind = K::Text{at<&C::host_name>}},
      {.key = "runtimes.search",
       .flag = "search",
       .value = "DIR",
       .help = "Directory with diagnostic sockets, or proc for every process that the agent sees",
       .details =
           "See [without a shared folder](guide.md#without-a-shared-folder). A directory that is called proc "
           "is `./proc`.",
       .default_text = "$TMPDIR, else /tmp",
       .commands = kHere,
       .kind = K::Paths{at<&C::search>, false, kSearchProcesses}},
      {.key = "runtimes.rescan",
       .help = "How often the directories, and the certificates' files, are looked through",
       .details = "The file system's notifications come sooner where it has them.",
       .commands = kAgent,
       .kind = K::Duration{at<&C::rescan>}},
      {.key = "runtimes.named",
       .flag = "runtime",
       .value = "NAME=PATH",
       .help = "A runtime's diagnostic socket at a path of its own, and what to call it",
       .details = "In the file: `runtimes.named.NAME = PATH`.",
       .default_text = "none",
       .commands = kHere,
       .kind = K::Sockets{at<&C::named>, parse_named_socket}},
      {.key = "runtimes.diagnostic_port",
       .flag = "diagnostic-port",
       .value = "PATH",
       .help = "Make a socket that runtimes dial (DOTNET_DiagnosticPorts)",
       .details = "They wait until they are resumed, unless they have `PATH,nosuspend`. See [runtimes that "
                  "dial in](guide.md#runtimes-that-dial-in). A socket that a dead farport has left there is "
                  "replaced. It is for our own user only, and for all users if farport is root.",
       .default_text = "none",
       .commands = kAgent,
       .kind = K::Paths{at<&C::diagnostic_ports>, true}},
      {.key = "runtimes.resume_after",
       .flag = "resume-after",
       .value = "DURATION",
       .help = "Resume a suspended runtime to which nobody has sent a command, that long after it was found",
       .details = "Asking it who it is doesn't count as a command.",
       .default_text = "never",
       .commands = kAgent,
       .kind = K::Duration{at<&C::resume_after>}},
      {.key = "app_metrics.keep",
       .flag = "app-metrics",
       .help = "Have each runtime tell its counters all the time, for Prometheus",
       .details = "At `/v1/metrics/runtimes`: see [applications' metrics](guide.md#applications-metrics).",
       .commands = kAgent,
       .kind = K::Boolean{at<&C::app_metrics, &AppMetricsSettings::keep>}},
      {.key = "app_metrics.counters",
       .flag = "app-metrics-counters",
       .value = "NAME[INSTRUMENTS]",
       .help = "Which of them, as farport counters has them",
       .default_text = "System.Runtime and ASP.NET's",
       .commands = kAgent,
       .kind = K::Texts{at<&C::app_metrics, &AppMetricsSettings::counters>}},
      {.key = "app_metrics.interval",
       .flag = "app-metrics-interval",
       .value = "DURATION",
       .help = "How often they tell them",
       .details = "A runtime has one interval for all who read its meters: with another one than 1s, "
                  "dotnet-counters and `farport counters` read them only if they ask for the same.",
       .commands = kAgent,
       .kind = K::Duration{at<&C::app_metrics, &AppMetricsSettings::interval>}},
      {.key = "session.drain",
       .flag = "drain",
       .value = "DURATION",
       .help = "How long what runs may go on once the agent is to stop",
       .details = "See [stopping](guide.md#stopping-and-handing-over).",
       .commands = kAgent,
       .kind = K::Duration{at<&C::drain>}},
      {.key = "allow.cn",
       .flag = "allow-cn",
       .value = "NAME[=ROLE]",
       .help = "Give certificates with this common name a role: observer, operator, admin, or one of the "
               "configuration's",
       .details = "Several add up. Flags replace the file's grants, all of them.",
       .default_text = "role observer",
       .commands = kAgent,
       .kind = K::Allow{at<&C::grants>, GrantKind::cn}},
      {.key = "allow.dns",
       .flag = "allow-dns",
       .value = "NAME[=ROLE]",
       .help = "Give certificates with this DNS name a role",
       .default_text = "role observer",
       .commands = kAgent,
       .kind = K::Allow{at<&C::grants>, GrantKind::dns}},
      {.key = "allow.uri",
       .flag = "allow-uri",
       .value = "PATTERN[=ROLE]",
       .help =
           "Give certificates with a URI that matches a role (SPIFFE; * is one path segment, a last ** any "
           "rest)",
       .default_text = "role observer",
       .commands = kAgent,
       .kind = K::Allow{at<&C::grants>, GrantKind::uri}},
      {.key = "allow.ip",
       .flag = "allow-ip",
       .value = "ADDRESS[=ROLE]",
       .help = "Give certificates with this IP address among their alternative names a role",
       .details = "Where a caller comes from doesn't count.",
       .default_text = "role observer",
       .commands = kAgent,
       .kind = K::Allow{at<&C::grants>, GrantKind::ip}},
      {.key = "allow.local",
       .flag = "allow-local",
       .value = "USER[=ROLE]",
       .help = "Give a user of this host, by name or number, a role for what comes by the local socket",
       .default_text = "role observer",
       .commands = kAgent,
       .kind = K::Allow{at<&C::grants>, GrantKind::local}},
      {.key = "allow.all",
       .flag = "allow-all",
       .value = "ROLE",
       .help = "Give every certificate of the CA a role",
       .details = "In the file: `true`, or the role. As a variable: `1`, or the role.",
       .default_text = "role observer",
       .commands = kAgent,
       .kind = K::AllowAll{at<&C::grants>}},
      {.key = "grants",
       .help = "Grants with more to say",
       .details = "See [grants](#grants).",
       .default_text = "none",
       .commands = kAgent,
       .kind = K::Grants{at<&C::grants>}},
      {.key = "roles",
       .help = "Roles of one's own, by name",
       .details = "See [roles](#roles).",
       .default_text = "none",
       .commands = kAgent,
       .kind = K::Roles{at<&C::roles>}},
      {.key = "audit.to",
       .flag = "audit",
       .value = "WHERE",
       .help = "Where the audit log goes: stderr, syslog, off, or a file's path, with a slash in it",
       .details = "Its lines are JSON. See [the audit log](security.md#the-audit-log).",
       .commands = kAgent,
       .kind = K::Audit{at<&C::audit>}},
      {.key = "audit.wait",
       .help =
           "Wait for a reader of the audit that takes no more lines (standard error, a pipe), rather than "
           "lose lines",
       .details = "All that the agent does waits then.",
       .commands = kAgent,
       .kind = K::Boolean{at<&C::audit_waits>}},
      {.key = "dump.directory",
       .flag = "dump-directory",
       .value = "DIR",
       .help = "Directory for dumps that the runtimes can write to and the agent can read",
       .default_text = "found out for each runtime",
       .commands = kHere,
       .kind = K::Path{at<&C::dump, &DumpSettings::directory>, true}},
      {.key = "dump.runtime_directory",
       .flag = "dump-runtime-directory",
       .value = "DIR",
       .help = "Where the runtimes see the directory for dumps",
       .default_text = "at the same path",
       .commands = kHere,
       .kind = K::Text{at<&C::dump, &DumpSettings::runtime_directory>}},
      {.key = "dump.max_size",
       .help = "The largest dump",
       .commands = kHere,
       .kind = K::Size{at<&C::dump, &DumpSettings::max_bytes>}},
      {.key = "dump.keep_free",
       .help = "How much room a dump must leave on its file system",
       .commands = kHere,
       .kind = K::Size{at<&C::dump, &DumpSettings::keep_free_bytes>}},
      {.key = "confinement.user",
       .flag = "user",
       .value = "NAME[:GROUP]",
       .help = "As root: become this user, by name or number, before anything is opened",
       .details =
           "Ports below 1024 can still be listened on. That user must be able to read the certificates, and "
           "serves its own runtimes only.",
       .default_text = "nobody else",
       .commands = kHere,
       .kind = K::Text{at<&C::confinement, &ConfinementSettings::user>}},
      {.key = "confinement.mode",
       .flag = "confine",
       .value = "MODE",
       .help =
           "Give up what isn't needed, once the agent listens: auto (what is possible), required (all, or "
           "don't start), off",
       .details = "Privileges and capabilities, system calls (seccomp), files and TCP (Landlock). An agent "
                  "that is root and has no directory for dumps does without Landlock. See [what the agent "
                  "gives up](security.md#what-the-agent-gives-up).",
       .commands = kAgent,
       .kind = K::OneOf{at<&C::confinement, &ConfinementSettings::mode>, confinement_choice}},
      {.flag = "limit",
       .value = "NAME=VALUE",
       .help = "One of the configuration's [limits], such as sessions_per_identity=10",
       .details = "See [limits](#limits).",
       .commands = kAgent,
       .kind = K::AnyLimit{at<&C::limits>}},
  };
}

}  // namespace

std::vector<Setting<Configuration>> agent_settings() {
  std::vector<Setting<Configuration>> all = own_settings();
  for (const auth::Limit& limit : auth::kLimits) {
    all.push_back({.key = limit.key,
                   .help = limit.help,
                   .details = limit.details,
                   .default_text = limit.default_text,
                   .commands = kAgent,
                   .kind = Kinds<Configuration>::Limit{at<&Configuration::limits>, &limit}});
  }
  return all;
}

std::vector<Setting<auth::Grant>> grant_settings() {
  using G = auth::Grant;
  using F = auth::IdentityFilter;
  using K = Kinds<G>;
  return {
      {.key = "cn", .help = "Common names, compared exactly", .kind = K::Texts{at<&G::identity, &F::cn>}},
      {.key = "ou",
       .help = "Organizational units, compared exactly",
       .kind = K::Texts{at<&G::identity, &F::ou>}},
      {.key = "dns",
       .help = "DNS names, compared exactly but for case",
       .kind = K::Texts{at<&G::identity, &F::dns>}},
      {.key = "uri", .help = "Patterns, as for `allow.uri`", .kind = K::Texts{at<&G::identity, &F::uri>}},
      {.key = "ip",
       .help = "IP addresses, however they are written",
       .kind = K::Texts{at<&G::identity, &F::ip>}},
      {.key = "pin",
       .help = "SHA-256 of public keys in base64, as farport check prints them: a certificate may be renewed "
               "with "
               "the same key",
       .kind = K::Texts{at<&G::identity, &F::pin>}},
      {.key = "local",
       .help = "Users of the agent's host, by name or number, instead of certificates",
       .kind = K::Words{at<&G::identity, &F::local>}},
      {.key = "all", .help = "Every certificate of the CA", .kind = K::Boolean{at<&G::identity, &F::all>}},
      {.key = "role",
       .help = "`observer`, `operator`, `admin`, or a role of the file",
       .default_text = "observer",
       .kind = K::Text{at<&G::role>}},
      {.key = "runtimes.name",
       .help = "Globs, of which one must match the whole name of a runtime",
       .default_text = "all",
       .kind = K::Texts{at<&G::runtimes, &auth::RuntimeFilter::name>}},
      {.key = "runtimes.command_line",
       .help = "Globs, of which one must match the whole command line",
       .default_text = "all",
       .kind = K::Texts{at<&G::runtimes, &auth::RuntimeFilter::command_line>}},
      {.key = "runtimes.pid",
       .help =
           "In the runtime's own pid namespace: by the agent's kernel where it sees the process, else as the "
           "runtime says",
       .default_text = "all",
       .kind = K::Numbers{at<&G::runtimes, &auth::RuntimeFilter::pid>}},
      {.key = "runtimes.user",
       .help = "Names or numbers of users on the agent's host",
       .default_text = "all",
       .kind = K::Words{at<&G::runtimes, &auth::RuntimeFilter::user>}},
  };
}

std::vector<Setting<auth::RoleRule>> role_settings() {
  using R = auth::RoleRule;
  using K = Kinds<R>;
  return {
      {.key = "includes", .help = "Roles whose commands it has, too", .kind = K::Texts{at<&R::includes>}},
      {.key = "commands",
       .help = "Its own commands, by their names in the protocol; `*` stands for any letters",
       .kind = K::Texts{at<&R::commands>}},
  };
}

}  // namespace farport::config
