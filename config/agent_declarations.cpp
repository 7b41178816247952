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
       .value = "ADDR:PORT",
       .help = "Address to listen on with TLS",
       .details = "Write IPv6 addresses in brackets.",
       .default_text = "required unless the agent is reached in another way",
       .kind = K::Addresses{at<&C::listen>}},
      {.key = "socket_activation",
       .help = "Listen on sockets passed by systemd (socket activation)",
       .details = "TCP sockets use TLS; Unix sockets serve users of this host, like `local`. Fails to start "
                  "if none was passed (sd_listen_fds(3)).",
       .kind = K::Boolean{at<&C::socket_activation>}},
      {.key = "dial",
       .value = "HOST:PORT",
       .help =
           "Dial a mirror that accepts agents (farport connect --accept), where the agent cannot be dialled",
       .details = "The agent keeps redialling for as long as it runs. See [agents that dial "
                  "out](guide/reaching.md#agents-that-dial-out).",
       .default_text = "none",
       .kind = K::Addresses{at<&C::dial>}},
      {.key = "local",
       .value = "PATH",
       .help = "Unix socket for users of this host (farport stdio --join)",
       .details = "The kernel identifies the user; `allow.local` and other grants decide what they may do. "
                  "See [without a port](guide/reaching.md#without-a-port).",
       .default_text = "none",
       .kind = K::Path{at<&C::local>, true}},
      {.key = "insecure_loopback",
       .value = "ADDR:PORT[=ROLE]",
       .help = "Listen without TLS on a loopback address, open to every process on this host",
       .details = "Callers get ROLE, by default `observer`.",
       .default_text = "none",
       .kind = K::Text{at<&C::insecure_loopback>}},
      {.key = "admin",
       .value = "[ADDR:]PORT",
       .help =
           "Serve /healthz, /readyz and /metrics over plain HTTP at this address; ADDR defaults to 127.0.0.1",
       .details = "Requires no certificate and gives no access to diagnostics: whoever reaches the address "
                  "can read them. See [monitoring](monitoring.md).",
       .default_text = "none",
       .kind = K::Text{at<&C::admin>}},
      {.key = "reuse_port",
       .help =
           "Share the listening ports with another agent of the same user (SO_REUSEPORT), to hand over to it",
       .details = "Both agents need it. See [handing over](guide/agents.md#stopping-and-handing-over).",
       .kind = K::Boolean{at<&C::reuse_port>}},
      {.key = "host_name",
       .value = "NAME",
       .help = "Name of this host, so that RUNTIME@HOST selects one of its runtimes",
       .details = "In a pod, the system's host name is the pod's name.",
       .default_text = "the system's host name",
       .kind = K::Text{at<&C::host_name>}},
      {.key = "runtimes.search",
       .flag = "search",
       .value = "DIR",
       .help = "Directory to search for diagnostic sockets, or proc to search every visible process",
       .details = "See [without a shared folder](guide/agents.md#without-a-shared-folder). For a directory "
                  "named proc, write `./proc`.",
       .default_text = "$TMPDIR, else /tmp",
       .commands = kHere,
       .kind = K::Paths{at<&C::search>, false, kSearchProcesses}},
      {.key = "runtimes.rescan",
       .file_only = true,
       .help = "How often to rescan the search directories and check the certificate files for changes",
       .details = "File system notifications, where available, are noticed sooner.",
       .kind = K::Duration{at<&C::rescan>}},
      {.key = "runtimes.named",
       .flag = "runtime",
       .value = "NAME=PATH",
       .help = "Diagnostic socket of a runtime outside of the search directories, and a name for the runtime",
       .details = "In the file: `runtimes.named.NAME = PATH`.",
       .default_text = "none",
       .commands = kHere,
       .kind = K::Sockets{at<&C::named>, parse_named_socket}},
      {.key = "runtimes.diagnostic_port",
       .flag = "diagnostic-port",
       .value = "PATH",
       .help = "Create a socket that runtimes connect to (DOTNET_DiagnosticPorts)",
       .details =
           "Runtimes wait there until they are resumed, unless started with `PATH,nosuspend`. See "
           "[runtimes that dial in](guide/agents.md#runtimes-that-dial-in). A stale socket of an "
           "earlier farport is replaced. Only the agent's user can connect; every user if the agent is "
           "root.",
       .default_text = "none",
       .kind = K::Paths{at<&C::diagnostic_ports>, true}},
      {.key = "runtimes.resume_after",
       .flag = "resume-after",
       .value = "DURATION",
       .help = "Resume a suspended runtime this long after it was found, if nobody has sent it a command",
       .details = "ProcessInfo requests do not count as commands.",
       .default_text = "never",
       .kind = K::Duration{at<&C::resume_after>}},
      {.key = "app_metrics.keep",
       .flag = "app-metrics",
       .help = "Continuously collect counters of every runtime and export them for Prometheus",
       .details = "Exported at `/v1/metrics/runtimes`: see [applications' "
                  "metrics](guide/agents.md#applications-metrics).",
       .kind = K::Boolean{at<&C::app_metrics, &AppMetricsSettings::keep>}},
      {.key = "app_metrics.counters",
       .value = "NAME[INSTRUMENTS]",
       .help = "With --app-metrics: counters to collect, in the syntax of farport counters --counters",
       .default_text = "System.Runtime and ASP.NET's",
       .kind = K::Texts{at<&C::app_metrics, &AppMetricsSettings::counters>}},
      {.key = "app_metrics.interval",
       .value = "DURATION",
       .help = "With --app-metrics: interval at which runtimes report their counters",
       .details = "A runtime has one interval for all readers of its meters: with a value other than 1s, "
                  "dotnet-counters and `farport counters` can read them only at the same interval.",
       .kind = K::Duration{at<&C::app_metrics, &AppMetricsSettings::interval>}},
      {.key = "recorder.keep",
       .flag = "recorder",
       .help = "Continuously record the last minutes of every runtime, for farport recent",
       .details =
           "Garbage collections, exceptions, contention, the thread pool, counters, and logs from "
           "warnings on, in memory: see [what happened before](guide/recording.md#what-happened-before). "
           "All runtimes together take at most a quarter of the memory that the agent may use.",
       .kind = K::Boolean{at<&C::recorder, &RecorderSettings::keep>}},
      {.key = "recorder.runtime_memory",
       .file_only = true,
       .help = "With --recorder: memory for the recording of one runtime at most",
       .commands = kHere,
       .kind = K::Size{at<&C::recorder, &RecorderSettings::runtime_bytes>}},
      {.key = "recorder.samples",
       .file_only = true,
       .help = "With --recorder: sample the processor, too, where that is possible",
       .commands = kHere,
       .kind = K::Boolean{at<&C::recorder, &RecorderSettings::samples>}},
      {.key = "artifacts.directory",
       .flag = "artifacts",
       .value = "DIR",
       .help =
           "Keep here what is taken with --keep, and with --recorder the last minutes of runtimes that end",
       .details = "The directory must belong to the agent's user, and nobody else may write there. In a pod, "
                  "use a volume that outlives it: see [keeping](guide/keeping.md).",
       .default_text = "nothing is kept",
       .kind = K::Path{at<&C::artifacts, &ArtifactSettings::directory>, true}},
      {.key = "artifacts.size",
       .file_only = true,
       .help = "With --artifacts: most bytes there; the oldest artifacts go",
       .commands = kHere,
       .kind = K::Size{at<&C::artifacts, &ArtifactSettings::bytes>}},
      {.key = "artifacts.age",
       .file_only = true,
       .help = "With --artifacts: older artifacts go; 0 keeps them",
       .details = "The newest crash stays.",
       .commands = kHere,
       .kind = K::Duration{at<&C::artifacts, &ArtifactSettings::age>}},
      {.key = "egress",
       .file_only = true,
       .help = "Stores to which what is kept is sent",
       .details = "See [stores](#stores).",
       .commands = kHere,
       .kind = K::Egress{at<&C::egress>}},
      {.key = "rules",
       .file_only = true,
       .help = "What to take of a runtime when something happens to it, though nobody looks",
       .details = "See [rules](guide/rules.md).",
       .commands = kHere,
       .kind = K::Rules{at<&C::rules>}},
      {.key = "session.drain",
       .flag = "drain",
       .value = "DURATION",
       .help = "How long running sessions may continue after the agent was told to stop",
       .details = "Remaining sessions are then stopped in the runtime. See "
                  "[stopping](guide/agents.md#stopping-and-handing-over).",
       .kind = K::Duration{at<&C::drain>}},
      {.key = "allow.cn",
       .value = "NAME[=ROLE]",
       .help = "Grant a role to certificates with this common name: observer, operator, admin or a "
               "configured role",
       .details = "Several grants add up. Any grant given by a flag replaces all grants of the file.",
       .default_text = "role observer",
       .kind = K::Allow{at<&C::grants>, GrantKind::cn}},
      {.key = "allow.dns",
       .value = "NAME[=ROLE]",
       .help = "Grant a role to certificates with this DNS name",
       .default_text = "role observer",
       .kind = K::Allow{at<&C::grants>, GrantKind::dns}},
      {.key = "allow.uri",
       .value = "PATTERN[=ROLE]",
       .help = "Grant a role to certificates with a matching URI, as of SPIFFE (* one path segment, final ** "
               "any rest)",
       .default_text = "role observer",
       .kind = K::Allow{at<&C::grants>, GrantKind::uri}},
      {.key = "allow.ip",
       .value = "ADDRESS[=ROLE]",
       .help = "Grant a role to certificates with this IP address as a subject alternative name",
       .details = "The caller's network address is not considered.",
       .default_text = "role observer",
       .kind = K::Allow{at<&C::grants>, GrantKind::ip}},
      {.key = "allow.local",
       .value = "USER[=ROLE]",
       .help = "Grant a role to a user of this host, by name or uid, on the local socket",
       .default_text = "role observer",
       .kind = K::Allow{at<&C::grants>, GrantKind::local}},
      {.key = "allow.all",
       .value = "ROLE",
       .help = "Grant a role to every certificate of the CA",
       .details = "In the file: `true` or a role. In the environment variable: `1` or a role.",
       .default_text = "role observer",
       .kind = K::AllowAll{at<&C::grants>}},
      {.key = "grants",
       .file_only = true,
       .help = "Grants with more conditions than the short forms of allow have",
       .details = "See [grants](#grants).",
       .default_text = "none",
       .kind = K::Grants{at<&C::grants>}},
      {.key = "roles",
       .file_only = true,
       .help = "Custom roles, by name",
       .details = "See [roles](#roles).",
       .default_text = "none",
       .kind = K::Roles{at<&C::roles>}},
      {.key = "audit.to",
       .flag = "audit",
       .value = "WHERE",
       .help = "Destination of the audit log: stderr, syslog, off, or a file path containing a slash",
       .details = "One JSON object per line. See [the audit log](security.md#the-audit-log).",
       .kind = K::Audit{at<&C::audit>}},
      {.key = "audit.wait",
       .file_only = true,
       .help =
           "Block while the audit log's reader (standard error, a pipe) is slow, instead of dropping lines",
       .details = "The whole agent blocks meanwhile.",
       .kind = K::Boolean{at<&C::audit_waits>}},
      {.key = "dump.directory",
       .value = "DIR",
       .help = "Directory for dumps, writable by the runtimes and readable by the agent",
       .default_text = "determined for each runtime",
       .commands = kHere,
       .kind = K::Path{at<&C::dump, &DumpSettings::directory>, true}},
      {.key = "dump.runtime_directory",
       .value = "DIR",
       .help = "Path of the dump directory as the runtimes see it",
       .default_text = "the same path",
       .commands = kHere,
       .kind = K::Text{at<&C::dump, &DumpSettings::runtime_directory>}},
      {.key = "dump.max_size",
       .file_only = true,
       .help = "Maximum size of a dump",
       .commands = kHere,
       .kind = K::Size{at<&C::dump, &DumpSettings::max_bytes>}},
      {.key = "dump.keep_free",
       .file_only = true,
       .help = "Free space that a dump must leave on its file system",
       .commands = kHere,
       .kind = K::Size{at<&C::dump, &DumpSettings::keep_free_bytes>}},
      {.key = "confinement.user",
       .flag = "user",
       .value = "NAME[:GROUP]",
       .help = "If started as root: switch to this user, by name or uid, before opening any file or socket",
       .details = "The agent can still listen on ports below 1024. The user must be able to read the "
                  "certificates. Only that user's runtimes are served.",
       .default_text = "no switch",
       .commands = kHere,
       .kind = K::Text{at<&C::confinement, &ConfinementSettings::user>}},
      {.key = "confinement.mode",
       .flag = "confine",
       .value = "MODE",
       .help = "Drop unneeded rights once listening: auto (as far as possible), required (all, or don't "
               "start), off",
       .details = "Drops privileges and capabilities, and restricts system calls (seccomp), files and TCP "
                  "(Landlock). An agent that runs as root without `dump.directory` does not use Landlock. "
                  "See [what the agent gives up](security.md#what-the-agent-gives-up).",
       .kind = K::OneOf{at<&C::confinement, &ConfinementSettings::mode>, confinement_choice}},
      {.flag = "limit",
       .value = "NAME=VALUE",
       .help = "Set a limit of the configuration's [limits], such as sessions_per_identity=10",
       .details = "See [limits](#limits).",
       .kind = K::AnyLimit{at<&C::limits>}},
  };
}

}  // namespace

std::vector<Setting<Configuration>> agent_settings() {
  std::vector<Setting<Configuration>> all = own_settings();
  for (const auth::Limit& limit : auth::kLimits) {
    all.push_back({.key = limit.key,
                   .file_only = true,
                   .help = limit.help,
                   .details = limit.details,
                   .default_text = limit.default_text,
                   .kind = Kinds<Configuration>::Limit{at<&Configuration::limits>, &limit}});
  }
  complete(all, kAgent);
  return all;
}

std::vector<Setting<auth::Grant>> grant_settings() {
  using G = auth::Grant;
  using F = auth::IdentityFilter;
  using K = Kinds<G>;
  return {
      {.key = "cn", .help = "Common names, matched exactly", .kind = K::Texts{at<&G::identity, &F::cn>}},
      {.key = "ou",
       .help = "Organizational units, matched exactly",
       .kind = K::Texts{at<&G::identity, &F::ou>}},
      {.key = "dns",
       .help = "DNS names, matched exactly, ignoring case",
       .kind = K::Texts{at<&G::identity, &F::dns>}},
      {.key = "uri", .help = "URI patterns, as for `allow.uri`", .kind = K::Texts{at<&G::identity, &F::uri>}},
      {.key = "ip", .help = "IP addresses, in any notation", .kind = K::Texts{at<&G::identity, &F::ip>}},
      {.key = "pin",
       .help = "Public keys: base64 of their SHA-256, as printed by farport check. A renewed certificate "
               "with the same key still matches",
       .kind = K::Texts{at<&G::identity, &F::pin>}},
      {.key = "local",
       .help = "Users of the agent's host, by name or uid, instead of certificates",
       .kind = K::Words{at<&G::identity, &F::local>}},
      {.key = "all",
       .help = "Match every certificate of the CA",
       .kind = K::Boolean{at<&G::identity, &F::all>}},
      {.key = "role",
       .help = "Role to grant: `observer`, `operator`, `admin` or one of `roles`",
       .default_text = "observer",
       .kind = K::Text{at<&G::role>}},
      {.key = "runtimes.name",
       .help = "Globs; one must match the runtime's whole name",
       .default_text = "all",
       .kind = K::Texts{at<&G::runtimes, &auth::RuntimeFilter::name>}},
      {.key = "runtimes.command_line",
       .help = "Globs; one must match the runtime's whole command line",
       .default_text = "all",
       .kind = K::Texts{at<&G::runtimes, &auth::RuntimeFilter::command_line>}},
      {.key = "runtimes.pid",
       .help = "Process ids in the runtime's own pid namespace: from the kernel if the agent sees the "
               "process, else as the runtime reports",
       .default_text = "all",
       .kind = K::Numbers{at<&G::runtimes, &auth::RuntimeFilter::pid>}},
      {.key = "runtimes.user",
       .help = "Users that the runtime runs as, by name or uid on the agent's host",
       .default_text = "all",
       .kind = K::Words{at<&G::runtimes, &auth::RuntimeFilter::user>}},
  };
}

std::vector<Setting<auth::RoleRule>> role_settings() {
  using R = auth::RoleRule;
  using K = Kinds<R>;
  return {
      {.key = "includes", .help = "Roles whose commands are included", .kind = K::Texts{at<&R::includes>}},
      {.key = "commands",
       .help = "Protocol commands that the role allows, by name; `*` stands for any letters",
       .kind = K::Texts{at<&R::commands>}},
  };
}

std::vector<Setting<EgressSettings>> egress_settings() {
  using E = EgressSettings;
  using C = CommandSettings;
  using K = Kinds<E>;
  return {
      {.key = "name",
       .help = "What the log and the list of artifacts call the store",
       .kind = K::Text{at<&E::name>}},
      {.key = "command",
       .help =
           "Program and arguments: it gets an artifact as its standard input. No shell takes part, unless "
           "the program is one",
       .kind = K::Texts{at<&E::run, &C::command>}},
      {.key = "check",
       .help =
           "The same, run afterwards without input: it prints how many bytes the store has, which must be "
           "what was sent",
       .default_text = "exit code 0 of `command` counts",
       .kind = K::Texts{at<&E::check>}},
      {.key = "kinds",
       .help = "Kinds of artifacts, such as `crash`, `dump`, `trace`",
       .default_text = "all",
       .kind = K::Texts{at<&E::kinds>}},
      {.key = "user",
       .help = "User whom both commands run as, NAME or NAME:GROUP. An agent that is root needs it",
       .default_text = "the agent's",
       .kind = K::Text{at<&E::run, &C::user>}},
      {.key = "environment",
       .help =
           "Variables of the agent's own environment that both commands get; `RCLONE_*` are all with that "
           "beginning",
       .kind = K::Texts{at<&E::run, &C::environment>}},
      {.key = "reads",
       .help = "Files and directories that both commands may read, beside programs, libraries and CA "
               "certificates",
       .kind = K::Paths{at<&E::run, &C::reads>}},
      {.key = "writes",
       .help = "Directories that both commands may write to",
       .kind = K::Paths{at<&E::run, &C::writes>}},
      {.key = "timeout",
       .help = "A command that takes nothing, or does not end, for this long is ended",
       .kind = K::Duration{at<&E::run, &C::timeout>}},
      {.key = "stream",
       .help = "Dumps for which there is no room go straight into the command as the runtime writes them. "
               "That stops the application, so it takes `farport dump --keep --longest-stop TIME`, too",
       .kind = K::Boolean{at<&E::stream>}},
      {.key = "rate",
       .help =
           "Bytes that the store takes in a second, to say how long that will be; after a large one it is "
           "what that has taken",
       .kind = K::Size{at<&E::rate>}},
  };
}

namespace {

const Choice& entry_level_choice() {
  static const Choice choice{"wait for log entries of the level",
                             {"Trace", "Debug", "Information", "Warning", "Error", "Critical"}};
  return choice;
}

}  // namespace

std::vector<Setting<RuleSettings>> rule_settings() {
  using R = RuleSettings;
  using F = auth::RuntimeFilter;
  using C = CommandSettings;
  using K = Kinds<R>;
  return {
      {.key = "name",
       .help = "What the log, the metrics, the audit and what is taken call the rule",
       .kind = K::Text{at<&R::name>}},
      {.key = "runtimes.name",
       .help = "Globs; one must match the runtime's whole name",
       .default_text = "all",
       .kind = K::Texts{at<&R::runtimes, &F::name>}},
      {.key = "runtimes.command_line",
       .help = "Globs; one must match the runtime's whole command line",
       .default_text = "all",
       .kind = K::Texts{at<&R::runtimes, &F::command_line>}},
      {.key = "runtimes.user",
       .help = "Users that the runtime runs as, by name or uid on the agent's host",
       .default_text = "all",
       .kind = K::Words{at<&R::runtimes, &F::user>}},
      {.key = "runtimes.pid",
       .help = "The only process, as `farport ps` shows it",
       .default_text = "all",
       .kind = K::Number{at<&R::pid>}},
      {.key = "when.start", .help = "When a runtime starts", .kind = K::Boolean{at<&R::start>}},
      {.key = "when.counter",
       .help = "When this instrument of a meter or of an EventSource is beyond a bound: "
               "`Orders[queue]`. What grows is compared by its growth a second, a histogram by "
               "its values a second or a percentile",
       .kind = K::Text{at<&R::counter>}},
      {.key = "when.tags",
       .help = "The series of that counter, as `NAME=VALUE`; each that has all of these counts by itself",
       .default_text = "all",
       .kind = K::Texts{at<&R::tags>}},
      {.key = "when.above", .help = "The value is above this", .kind = K::Number{at<&R::above>}},
      {.key = "when.below", .help = "The value is below this", .kind = K::Number{at<&R::below>}},
      {.key = "when.percentile",
       .help = "Of a histogram: 50, 95 or 99",
       .kind = K::Number{at<&R::percentile>}},
      {.key = "when.for",
       .help = "How long the value, or the memory, must be beyond it without a break; of a hang, how long "
               "that must last",
       .default_text = "once; of a hang `30s`",
       .kind = K::Duration{at<&R::lasts>}},
      {.key = "when.log",
       .help = "When it logs in these categories: globs, `[\"*\"]` for all",
       .kind = K::Texts{at<&R::logs>}},
      {.key = "when.level",
       .help = "The lowest level of these",
       .kind = K::OneOf{at<&R::level>, entry_level_choice}},
      {.key = "when.exception",
       .help = "When it throws exceptions of these types: globs, `[\"*\"]` for all. Types that derive from "
               "them are others",
       .kind = K::Texts{at<&R::exceptions>}},
      {.key = "when.text",
       .help = "The log entry's or the exception's message has this text in it",
       .default_text = "any",
       .kind = K::Text{at<&R::text>}},
      {.key = "when.request",
       .help = "When it gets requests for these paths, by ASP.NET: globs, `[\"**/*\"]` for all, where `**/` "
               "stands for any folders, `*` for anything but `/`, and case does not count",
       .kind = K::Texts{at<&R::requests>}},
      {.key = "when.except",
       .help = "Paths of requests that don't count: globs likewise",
       .default_text = "none",
       .kind = K::Texts{at<&R::except>}},
      {.key = "when.status",
       .help = "Only requests with these answers count: `[\"404\", \"500-599\"]`",
       .default_text = "all",
       .kind = K::Texts{at<&R::statuses>}},
      {.key = "when.slower",
       .help =
           "Only requests that have no answer for longer than this count, as soon as they have none for so "
           "long; with `when.status` once they have one",
       .default_text = "all",
       .kind = K::Duration{at<&R::slower>}},
      {.key = "when.times",
       .help = "How many of these there must be within the time",
       .kind = K::Count{at<&R::count>}},
      {.key = "when.within", .help = "The time for `when.times`", .kind = K::Duration{at<&R::span>}},
      {.key = "when.memory",
       .help =
           "When the control group of its process, such as its container's, uses more than so many percent "
           "of the memory that it is limited to, without what was read from files and can be given back",
       .kind = K::Number{at<&R::memory>}},
      {.key = "when.crash",
       .help =
           "When its process ends otherwise than with exit code 0, or, where the kernel does not say how, "
           "at all. Only `run` can follow, and the recorder must be on",
       .kind = K::Boolean{at<&R::crash>}},
      {.key = "when.hang",
       .help = "When its process stands still (stopped by a signal or a debugger, or frozen), or its runtime "
               "does not answer",
       .kind = K::Boolean{at<&R::hang>}},
      {.key = "do",
       .help =
           "What to take, in turn: `recent`, `trace`, `profile`, `counters`, `logs` and `exceptions`, each "
           "with a duration if you like, `stacks`, `gcdump`, `dump` with a type, `modules` (for debuggers), "
           "and "
           "`run`: `\"trace 30s\"`, `\"dump heap\"`. A trace may have `profile=` and `providers=` as "
           "`farport trace` has them, logs "
           "`level=` and `category=`, counters `counters=`: `\"logs 1m level=Error\"`",
       .kind = K::Texts{at<&R::actions>}},
      {.key = "run.command",
       .help = "What `run` runs: a program and arguments, with `{rule}`, `{runtime}`, `{file}` and so on in "
               "them. It gets what has happened as JSON on its standard input. No shell takes part, unless "
               "the program is one",
       .kind = K::Texts{at<&R::run, &C::command>}},
      {.key = "run.user",
       .help = "User whom it runs as, NAME or NAME:GROUP. An agent that is root needs it",
       .default_text = "the agent's",
       .kind = K::Text{at<&R::run, &C::user>}},
      {.key = "run.environment",
       .help = "Variables of the agent's own environment that it gets; `SLACK_*` are all with that beginning",
       .kind = K::Texts{at<&R::run, &C::environment>}},
      {.key = "run.reads",
       .help = "Files and directories that it may read, beside programs, libraries and CA certificates",
       .kind = K::Paths{at<&R::run, &C::reads>}},
      {.key = "run.writes",
       .help = "Directories that it may write to",
       .kind = K::Paths{at<&R::run, &C::writes>}},
      {.key = "run.timeout",
       .help = "After this long it is ended",
       .kind = K::Duration{at<&R::run, &C::timeout>}},
      {.key = "limit.times",
       .help = "How often it may fire within the time, for one application",
       .kind = K::Count{at<&R::times>}},
      {.key = "limit.total",
       .help = "The same for all applications together",
       .kind = K::Count{at<&R::total>}},
      {.key = "limit.at_once",
       .help = "For how many applications it may take something at a time",
       .kind = K::Count{at<&R::at_once>}},
      {.key = "limit.within", .help = "The time of the other limits", .kind = K::Duration{at<&R::within>}},
      {.key = "limit.bytes",
       .help = "It does not fire again within the time once it has taken so much, on the disk",
       .default_text = "none",
       .kind = K::Size{at<&R::bytes>}},
      {.key = "limit.hours",
       .help = "The only hours of the day, in the agent's time zone: `08:00-18:00`",
       .default_text = "all",
       .kind = K::Text{at<&R::hours>}},
      {.key = "limit.age",
       .help = "It fires only so long after the application's start",
       .default_text = "for ever",
       .kind = K::Duration{at<&R::age>}},
  };
}

}  // namespace farport::config
