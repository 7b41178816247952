// The settings of each command, combined from file, environment and flags.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/credentials.hpp"
#include "auth/limit_settings.hpp"
#include "auth/rules.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/proxy.hpp"
#include "config/command_settings.hpp"
#include "config/rule_settings.hpp"

namespace farport::config {

using Milliseconds = std::chrono::milliseconds;

/// HOST:PORT. The host is a name or an address; an IPv6 address has no brackets here.
struct Address {
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const Address&) const = default;
};

/// Paths of PEM files; empty if not given.
struct TlsFiles {
  std::string cert;
  std::string key;
  std::string ca;
  std::string crl{};     ///< Optional.
  std::string bundle{};  ///< Replaces cert, key and ca.
  std::string passphrase_file{};
  std::shared_ptr<const auth::Passphrase> passphrase = {};  ///< As typed for the bundle.
};

struct LogSettings {
  std::string level = "info";
  std::string format = "text";
};

/// When a session counts as broken, how long it can be resumed, and whether it compresses.
struct SessionSettings {
  Milliseconds grace{30'000};         ///< How long diagnostic connections wait for a new session.
  Milliseconds ping_interval{5'000};  ///< Silence after which to check that the other side is alive.
  Milliseconds ping_timeout{5'000};   ///< Longest silence after that.
  std::string compression = "auto";   ///< For traces and dumps: auto, always or never.
};

/// How dumps are taken.
struct DumpSettings {
  std::string directory;          ///< As the agent sees it; empty: determined for each runtime.
  std::string runtime_directory;  ///< The same directory as runtimes see it; empty: the same path.
  std::uint64_t max_bytes = 64ULL << 30;
  std::uint64_t keep_free_bytes = 256ULL << 20;  ///< Free space to leave on the file system of a dump.
};

/// What the agent gives up after startup.
struct ConfinementSettings {
  std::string user;           ///< NAME or NAME:GROUP to switch to; empty: don't.
  std::string mode = "auto";  ///< "auto": what is possible; "required": everything, or fail; "off".
};

/// Disables the proxy that the environment gives.
inline constexpr std::string_view kNoProxy = "none";

/// A word among the search directories that means to look into every process.
inline constexpr std::string_view kSearchProcesses = "proc";

/// Counters of applications, collected for Prometheus.
struct AppMetricsSettings {
  bool keep = false;
  std::vector<std::string> counters;  ///< As in `farport counters`; empty: the default ones.
  Milliseconds interval{1000};
};

/// The agent's recorder.
struct RecorderSettings {
  bool keep = false;
  bool samples = true;                       ///< Whether processors are sampled, too.
  std::uint64_t runtime_bytes = 8ULL << 20;  ///< Memory for one runtime.
};

/// What the agent keeps.
struct ArtifactSettings {
  std::string directory;             ///< If empty, nothing is kept.
  std::uint64_t bytes = 1ULL << 30;  ///< Of all together.
  Milliseconds age{0};               ///< After which they go; 0: never.
};

/// A store to which what is kept is sent.
struct EgressSettings {
  std::string name;                ///< For the log and the list of artifacts.
  CommandSettings run;             ///< Its command gets the bytes.
  std::vector<std::string> check;  ///< Prints how many bytes the store has; empty: its word counts.
  std::vector<std::string> kinds;  ///< Of artifacts; empty: all.
  bool stream = false;             ///< It may get a dump while that is written.
  std::uint64_t rate = 10 << 20;   ///< Bytes that it takes in a second, until that was measured.
};

/// Settings of an agent that Configuration and ServeSettings have in common.
struct AgentSettings {
  std::string host_name;  ///< Name of the runtimes' host; empty: the system's.
  std::vector<Address> listen;
  bool socket_activation = false;  ///< Also listen on the service manager's sockets.
  std::vector<Address> dial;       ///< Mirrors that accept agents.
  bool reuse_port = false;         ///< Allow another agent to listen on the same ports.
  std::string local;               ///< Path of a socket for users of this host; empty: none.
  TlsFiles tls;
  std::vector<std::string> search;  ///< Directories; none: $TMPDIR or /tmp. Of a file also kSearchProcesses.
  std::vector<NamedPath> named;     ///< Listen ports at other paths.
  std::vector<std::string> diagnostic_ports;  ///< Paths of sockets that runtimes dial; absolute.
  std::string audit = "stderr";               ///< "stderr", "syslog", "off", or a file's path.
  bool audit_waits = false;                   ///< Wait for a slow reader rather than lose lines.
  DumpSettings dump;
  AppMetricsSettings app_metrics;
  RecorderSettings recorder;
  ArtifactSettings artifacts;
  std::vector<EgressSettings> egress;
  std::vector<RuleSettings> rules;
  ConfinementSettings confinement;
  Milliseconds rescan{5000};
  auth::LimitSettings limits;
  SessionSettings session;
  Milliseconds drain{10'000};  ///< How long running requests may continue at shutdown.
};

/// For `farport serve`.
struct ServeSettings : AgentSettings {
  ProxyChoice proxy;  ///< For dialling mirrors.
  std::optional<Address> insecure_loopback;
  std::optional<Address> admin;  ///< For health and metrics, without TLS.
  LogSettings log;
  bool search_processes = false;             ///< Look for runtimes in every visible process.
  std::optional<Milliseconds> resume_after;  ///< How long a suspended runtime waits; empty: for ever.
  auth::PolicyRules policy;

  /// Whether any callers use TLS.
  [[nodiscard]] bool uses_tls() const { return !listen.empty() || socket_activation || !dial.empty(); }
};

/// Time to read the output of a command and to type the next one, which then uses the same agent.
inline constexpr Milliseconds kLinger{60'000};

/// One agent, or several behind one name or profile.
struct RemoteSettings {
  std::string profile;  ///< Name of the profile; empty if there is none.
  std::vector<Address> addresses;
  std::string reach;              ///< SCHEME://…: reached by a command, without a port.
  std::string via;                ///< A shell command that reaches it.
  std::string deploy = "auto";    ///< How farport gets there: "auto", "never", "ephemeral", "copy".
  std::string image;              ///< Image of helper containers; empty: made of the static program.
  std::string static_binary;      ///< Path of that program; empty: the installed one.
  Milliseconds linger = kLinger;  ///< How long a deployed agent stays after its last session.
  std::vector<Address> accept;    ///< Addresses where agents dial in, instead of being dialled.
  ProxyChoice proxy;              ///< For the addresses.
  std::string server_name;        ///< Empty: the host that is dialled.
  auth::IdentityFilter verify;    ///< Further conditions on the agent's certificate; empty: none.
  TlsFiles tls;
  std::vector<std::string> select;  ///< Which runtimes to mirror; empty: all.
  bool profiles = false;  ///< Not configured: set by commands that need a deployed agent to take profiles.
};

/// Where to look for symbols of native functions.
struct SymbolSettings {
  std::vector<std::string> directories;
  std::vector<std::string> servers;  ///< URLs.
};

/// Every setting, from the file, the environment and the flags, or its default.
struct Configuration : AgentSettings {
  std::string file;               ///< As given by the flag; empty: the user's own, or none.
  std::string proxy;              ///< A URL or kNoProxy; empty: from the environment.
  std::string insecure_loopback;  ///< ADDR:PORT or ADDR:PORT=ROLE; empty: none.
  std::string admin;              ///< ADDR:PORT, :PORT or PORT; empty: none.
  LogSettings log{.level = {}};   ///< Empty level: the command's own default.
  Milliseconds resume_after{0};   ///< 0: never.
  std::vector<auth::RoleRule> roles;
  std::vector<auth::Grant> grants;
  std::string socket_dir;
  std::vector<NamedPath> sockets;
  std::vector<NamedPath> tools;
  std::string log_file;
  SymbolSettings symbols;
  std::map<std::string, RemoteSettings> remotes;
};

struct ConnectSettings {
  std::vector<RemoteSettings> remotes;
  std::string socket_dir;
  std::vector<NamedPath> sockets;
  std::vector<NamedPath> tools;  ///< Sockets of listening tools; without a name: for every runtime.
  bool json = false;
  bool detach = false;   ///< Run in the background.
  std::string log_file;  ///< Where to log then; empty: a file of its own.
  SessionSettings session;
  LogSettings log;
  bool log_level_given = false;  ///< By a flag, the environment or the file.
};

/// For `farport stdio`.
struct StdioSettings {
  std::string join;               ///< Socket of a running agent; empty: start or use this user's own.
  bool foreground = false;        ///< Be that agent instead of connecting to it.
  std::string directory;          ///< The agent's; removed when it ends. Empty: this user's own.
  Milliseconds linger = kLinger;  ///< How long after its last session that agent ends.
  std::string user;               ///< For root: the user to switch to first; empty: none.
};

struct PsSettings {
  std::vector<RemoteSettings> remotes;
  bool json = false;
};

/// For `farport doctor`.
struct DoctorSettings {
  std::vector<RemoteSettings> remotes;  ///< Empty: examine this host.
  ServeSettings here;                   ///< How an agent on this host would search and take dumps.
  bool json = false;
};

struct CanISettings {
  std::vector<RemoteSettings> remotes;
  std::string command;  ///< Empty: all.
  bool all = false;     ///< Show every command of the protocol, not tasks.
  bool json = false;
};

/// How long to wait for a runtime that does not answer.
struct PatienceSettings {
  Milliseconds limit{30'000};
  bool given = false;  ///< By the user: it then also applies to a busy runtime.
};

/// For `farport dump`.
struct DumpCommandSettings {
  RemoteSettings remote;
  std::string runtime;  ///< An id, a pid or a name; empty: the only one.
  std::string output;   ///< A file; empty: named after the runtime.
  std::string type = "heap";
  bool stay = false;             ///< Leave the dump where the runtime wrote it.
  bool keep = false;             ///< Have the agent keep it.
  bool force = false;            ///< Replace an existing file.
  bool anyway = false;           ///< Also where the application has too little memory for it.
  std::string with_runtime;      ///< "none", "needed" or "all"; empty: as the type of dump needs it.
  Milliseconds longest_stop{0};  ///< That the application may be stopped for if it goes straight to a store.
  PatienceSettings patience;
  SessionSettings session;
};

/// What to do with a runtime that is suspended at startup and should record.
enum class AtStart : std::uint8_t {
  refused,  ///< Don't record.
  resumed,  ///< Record and resume it.
  left,     ///< Leave it suspended; it records once somebody else resumes it.
};

/// Common settings of the commands that make a runtime record.
struct RecordingSettings {
  RemoteSettings remote;
  std::string runtime;                   ///< An id, a pid or a name; empty: the only one.
  std::optional<Milliseconds> duration;  ///< Empty: until interrupted, or the runtime ends.
  std::string output;                    ///< A file; empty: standard output, or a name chosen by the command.
  bool force = false;                    ///< Replace an existing file.
  std::string format;                    ///< text, json or csv; empty: text.
  PatienceSettings patience;
  AtStart at_start = AtStart::refused;
  bool keep = false;  ///< Have the agent keep what is taken.
  SessionSettings session;
};

/// For `farport recent`.
struct RecentSettings : RecordingSettings {
  std::string crash;  ///< The id of a runtime that has ended; empty: one that runs.
};

/// For `farport artifacts`.
struct ArtifactsSettings : PsSettings {
  SessionSettings session;
  std::string get;                  ///< The id of the one to get; empty: none.
  std::string output;               ///< The file for it; empty: named after it.
  bool force = false;               ///< Replace the file.
  std::vector<std::string> remove;  ///< Ids.
  std::string follow;               ///< The directory to which all come as they appear; empty: none.
};

/// The event that ends a recording, in dotnet-trace's syntax; empty: none.
struct StoppingEventSettings {
  std::string provider;
  std::string event;
  std::string payload;
};

/// For `farport trace`.
struct TraceSettings : RecordingSettings {
  std::vector<std::string> profiles;
  std::vector<std::string> providers;  ///< In dotnet-trace's syntax.
  std::optional<bool> rundown;         ///< Empty: as the profiles define it.
  std::uint32_t buffer_mb = 256;       ///< Size of the runtime's buffer.
  StoppingEventSettings stopping_event;
};

/// For `farport counters`.
struct CountersSettings : RecordingSettings {
  std::vector<std::string> counters;  ///< In dotnet-counters' syntax; empty: the default ones.
  Milliseconds interval{1000};
  std::uint32_t most_series = 1000;
  std::uint32_t most_histograms = 20;
};

/// For `farport top`.
struct TopSettings {
  std::vector<RemoteSettings> remotes;
  Milliseconds interval{1000};
  std::string order;         ///< cpu, memory, …; empty: cpu.
  std::string format;        ///< text or json; empty: a table, redrawn if possible.
  std::uint32_t rounds = 0;  ///< How often to show it; 0: until interrupted.
  SessionSettings session;
};

/// For `farport logs`.
struct LogsSettings : RecordingSettings {
  std::string level;                    ///< Trace to Critical; empty: the application's filters.
  std::vector<std::string> categories;  ///< "Orders.*", or "Orders.*:Debug".
};

/// What is sampled from outside the runtime.
enum class ProfileEvent : std::uint8_t {
  cpu,   ///< Threads that run.
  wall,  ///< All threads, including waiting ones.
};

/// For `farport profile`.
struct ProfileSettings : RecordingSettings {
  bool wall = false;  ///< Use the runtime's own sampler.
  ProfileEvent event = ProfileEvent::cpu;
  std::uint32_t frequency = 99;  ///< In Hz.
  std::uint32_t top = 0;         ///< Rows of a table on standard output; 0: folded stacks.
  SymbolSettings symbols;
};

/// For `farport gcdump`. Its duration limits the whole recording.
struct GcdumpSettings : RecordingSettings {
  std::uint32_t top = 0;  ///< Number of types; 0: all in a file, the largest in a table.
};

/// For `farport convert`.
struct ConvertSettings {
  std::string input;  ///< A .nettrace file.
  std::string output;
  std::uint32_t top = 0;
  bool force = false;
};

struct RunSettings {
  std::vector<RemoteSettings> remotes;  ///< Named before the "--"; may be empty.
  std::vector<std::string> tool;        ///< The tool and its arguments; never empty.
  SessionSettings session;
  LogSettings log;
  bool log_level_given = false;  ///< By a flag, the environment or the file.
  /// Resolves a remote named in the tool's own arguments, by HOST:PORT or profile.
  std::function<Result<RemoteSettings>(const std::string&)> resolve_remote;
};

}  // namespace farport::config
