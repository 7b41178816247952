// What each command works with once the file, the environment and the flags have been put together.
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
#include "base/proxy.hpp"

namespace farport::config {

using Milliseconds = std::chrono::milliseconds;

/// HOST:PORT. The host is a name or an address; an IPv6 address is here without its brackets.
struct Address {
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const Address&) const = default;
};

/// Paths of PEM files; empty where not given.
struct TlsFiles {
  std::string cert;
  std::string key;
  std::string ca;
  std::string crl{};     ///< Not required.
  std::string bundle{};  ///< In place of cert, key and ca.
  std::string passphrase_file{};
  std::shared_ptr<const auth::Passphrase> passphrase = {};  ///< What was typed for the bundle.
};

struct LogSettings {
  std::string level = "info";
  std::string format = "text";
};

/// NAME=PATH: a Unix socket and the runtime that it belongs to.
struct NamedSocket {
  std::string name;
  std::string path;
  bool operator==(const NamedSocket&) const = default;
};

/// When a session counts as broken, what becomes of it then, and how bytes are sent in it.
struct SessionSettings {
  Milliseconds grace{30'000};         ///< How long diagnostic connections wait for the next one.
  Milliseconds ping_interval{5'000};  ///< How often to ask whether the other side is there.
  Milliseconds ping_timeout{5'000};   ///< How long it may take to say anything.
  std::string compression = "auto";   ///< Of traces and dumps: auto, always or never.
};

/// How dumps are taken.
struct DumpSettings {
  std::string directory;          ///< Where the agent sees them; empty: found out for each runtime.
  std::string runtime_directory;  ///< Where the runtimes see that directory; empty: at the same path.
  std::uint64_t max_bytes = 64ULL << 30;
  std::uint64_t keep_free_bytes = 256ULL << 20;  ///< Of the file system that a dump is written to.
};

/// What the agent gives up once it has started.
struct ConfinementSettings {
  std::string user;           ///< NAME or NAME:GROUP to become; empty: nobody else.
  std::string mode = "auto";  ///< "auto": what is possible; "required": all, or not at all; "off".
};

/// What stands for no proxy, whatever the environment says.
inline constexpr std::string_view kNoProxy = "none";

/// What stands among the directories to search for a look into every process.
inline constexpr std::string_view kSearchProcesses = "proc";

/// What applications count, kept for Prometheus.
struct AppMetricsSettings {
  bool keep = false;
  std::vector<std::string> counters;  ///< As `farport counters` has them; none: the usual ones.
  Milliseconds interval{1000};
};

struct ServeSettings {
  std::string host_name;  ///< What the runtimes' host is called; empty: as the system has it.
  std::vector<Address> listen;
  bool socket_activation = false;  ///< Listen on the sockets that the service manager has made, too.
  std::vector<Address> dial;       ///< Mirrors that accept agents.
  ProxyChoice proxy;               ///< On the way there.
  bool reuse_port = false;         ///< Let another agent listen there too.
  std::string local;               ///< A socket for users of this host; empty: none.
  std::optional<Address> insecure_loopback;
  std::optional<Address> admin;  ///< For health and metrics, without TLS.
  TlsFiles tls;
  LogSettings log;
  std::vector<std::string> search;            ///< Directories: $TMPDIR, else /tmp, where nothing is named.
  bool search_processes = false;              ///< Look into every process that is visible.
  std::vector<NamedSocket> runtimes;          ///< Listen ports at paths of their own.
  std::vector<std::string> diagnostic_ports;  ///< Sockets for runtimes to dial: absolute paths.
  std::optional<Milliseconds> resume_after;   ///< How long a suspended runtime waits; nothing: for ever.
  auth::PolicyRules policy;
  std::string audit = "stderr";  ///< "stderr", "syslog", "off", or a file's path.
  bool audit_waits = false;      ///< For a reader that takes no more, rather than lose lines.
  DumpSettings dump;
  AppMetricsSettings app_metrics;
  ConfinementSettings confinement;
  Milliseconds rescan{5000};
  auth::LimitSettings limits;
  SessionSettings session;
  Milliseconds drain{10'000};  ///< How long what runs may go on once the agent is to stop.

  /// Whether it has callers that it meets with TLS.
  [[nodiscard]] bool uses_tls() const { return !listen.empty() || socket_activation || !dial.empty(); }
};

/// Long enough to read what a command printed and to type the next one, which uses the same agent.
inline constexpr Milliseconds kLinger{60'000};

/// An agent, or several behind one name or profile.
struct RemoteSettings {
  std::string profile;  ///< The profile's name; empty for one that is named without.
  std::vector<Address> addresses;
  std::string reach;              ///< SCHEME://…: reached by a command, without a port.
  std::string via;                ///< A shell command that reaches it.
  std::string deploy = "auto";    ///< How farport comes there: "auto", "never", "ephemeral", "copy".
  std::string image;              ///< Of helper containers; empty: one made of the static program.
  std::string static_binary;      ///< That program; empty: the installed one.
  Milliseconds linger = kLinger;  ///< How long what was brought along stays after its last session.
  std::vector<Address> accept;    ///< Instead of being dialled, agents dial in here.
  ProxyChoice proxy;              ///< On the way to the addresses.
  std::string server_name;        ///< Empty: the host that is dialled.
  auth::IdentityFilter verify;    ///< What the agent's certificate must say besides; empty: nothing.
  TlsFiles tls;
  std::vector<std::string> select;  ///< Which runtimes to mirror; empty: all.
  bool profiles = false;  ///< Not configured: the command has an agent that is brought along take profiles.
};

/// Where names of native functions are looked for.
struct SymbolSettings {
  std::vector<std::string> directories;
  std::vector<std::string> servers;  ///< URLs.
};

/// Every setting, as the file, the environment and the flags give it. What none of them gives has its
/// default.
struct Configuration {
  std::string file;  ///< As the flag names it; empty: the user's own, or none.
  std::string host_name;
  std::vector<Address> listen;
  std::vector<Address> dial;
  std::string proxy;  ///< A URL, or kNoProxy; empty: as the environment says.
  bool reuse_port = false;
  bool socket_activation = false;
  std::string local;
  std::string insecure_loopback;  ///< ADDR:PORT or ADDR:PORT=ROLE; empty: none.
  std::string admin;              ///< ADDR:PORT, :PORT or PORT; empty: none.
  TlsFiles tls;
  LogSettings log{.level = {}};  ///< No level: what the command has by itself.
  std::vector<std::string> search;
  std::vector<NamedSocket> named;
  std::vector<std::string> diagnostic_ports;
  Milliseconds resume_after{0};  ///< 0: never.
  Milliseconds rescan{5000};
  std::vector<auth::RoleRule> roles;
  std::vector<auth::Grant> grants;
  std::string audit = "stderr";
  bool audit_waits = false;
  DumpSettings dump;
  AppMetricsSettings app_metrics;
  ConfinementSettings confinement;
  auth::LimitSettings limits;
  SessionSettings session;
  Milliseconds drain{10'000};
  std::string socket_dir;
  std::vector<NamedSocket> sockets;
  std::vector<NamedSocket> tools;
  std::string log_file;
  SymbolSettings symbols;
  std::map<std::string, RemoteSettings> remotes;
};

struct ConnectSettings {
  std::vector<RemoteSettings> remotes;
  std::string socket_dir;
  std::vector<NamedSocket> sockets;
  std::vector<NamedSocket> tools;  ///< Sockets of tools that listen; without a name: for every runtime.
  bool json = false;
  bool detach = false;   ///< Go on without a terminal, and return.
  std::string log_file;  ///< Where to log then; empty: a file of its own.
  SessionSettings session;
  LogSettings log;
  bool log_level_given = false;  ///< By a flag, the environment or the file.
};

/// Of `farport stdio`.
struct StdioSettings {
  std::string join;         ///< The socket of an agent that runs; empty: this user's own, which is started.
  bool foreground = false;  ///< Be that agent, and carry nothing.
  std::string directory;  ///< The agent's, which goes with it, and the program in it; empty: this user's own.
  Milliseconds linger = kLinger;  ///< How long after its last session that agent ends.
  std::string user;               ///< As root: whom to become before; empty: nobody.
};

struct PsSettings {
  std::vector<RemoteSettings> remotes;
  bool json = false;
};

/// Of `farport doctor`.
struct DoctorSettings {
  std::vector<RemoteSettings> remotes;  ///< Empty: it is about this host.
  ServeSettings here;                   ///< How an agent of this host would search, and take dumps.
  bool json = false;
};

struct CanISettings {
  std::vector<RemoteSettings> remotes;
  std::string command;  ///< Empty: all.
  bool all = false;     ///< Show each command, not what people want to do.
  bool json = false;
};

/// How long a runtime is waited for that does not answer.
struct PatienceSettings {
  Milliseconds limit{30'000};
  bool given = false;  ///< By its user: it counts for one that is busy, too.
};

/// Of `farport dump`.
struct DumpCommandSettings {
  RemoteSettings remote;
  std::string runtime;  ///< An id, a pid or a name; empty: the only one.
  std::string output;   ///< A file; empty: one is named after the runtime.
  std::string type = "heap";
  bool stay = false;   ///< Leave the dump where the runtime has written it.
  bool force = false;  ///< Replace a file that is there.
  PatienceSettings patience;
  SessionSettings session;
};

/// What becomes of a runtime that is suspended at its start when it is to record.
enum class AtStart : std::uint8_t {
  refused,  ///< It is left alone, and not asked to record.
  resumed,  ///< It records, and goes on.
  left,     ///< It stays suspended, and records after somebody else has resumed it.
};

/// Of the commands that have a runtime record.
struct RecordingSettings {
  RemoteSettings remote;
  std::string runtime;                   ///< An id, a pid or a name; empty: the only one.
  std::optional<Milliseconds> duration;  ///< Nothing: until it is interrupted, or the runtime ends.
  std::string output;                    ///< A file; empty: standard output, or a name of the command's own.
  bool force = false;                    ///< Replace a file that is there.
  std::string format;                    ///< text, json or csv; empty: text.
  PatienceSettings patience;
  AtStart at_start = AtStart::refused;
  SessionSettings session;
};

/// The event that ends a recording, in dotnet-trace's words; empty: none does.
struct StoppingEventSettings {
  std::string provider;
  std::string event;
  std::string payload;
};

/// Of `farport trace`.
struct TraceSettings : RecordingSettings {
  std::vector<std::string> profiles;
  std::vector<std::string> providers;  ///< As dotnet-trace has them.
  std::optional<bool> rundown;         ///< Nothing: as the profiles have it.
  std::uint32_t buffer_mb = 256;       ///< At the runtime.
  StoppingEventSettings stopping_event;
};

/// Of `farport counters`.
struct CountersSettings : RecordingSettings {
  std::vector<std::string> counters;  ///< As dotnet-counters has them; none: the usual ones.
  Milliseconds interval{1000};
  std::uint32_t most_series = 1000;
  std::uint32_t most_histograms = 20;
};

/// Of `farport top`.
struct TopSettings {
  std::vector<RemoteSettings> remotes;
  Milliseconds interval{1000};
  std::string order;         ///< cpu, memory, …; empty: cpu.
  std::string format;        ///< text or json; empty: a table that is drawn anew where that can be.
  std::uint32_t rounds = 0;  ///< How often it is shown; 0: until it is ended.
  SessionSettings session;
};

/// Of `farport logs`.
struct LogsSettings : RecordingSettings {
  std::string level;                    ///< Trace to Critical; empty: as the application's filters have it.
  std::vector<std::string> categories;  ///< "Orders.*", or "Orders.*:Debug".
};

/// What is looked at from outside the runtime.
enum class ProfileEvent : std::uint8_t {
  cpu,   ///< What computes.
  wall,  ///< All threads, those that wait among them.
};

/// Of `farport profile`.
struct ProfileSettings : RecordingSettings {
  bool wall = false;  ///< The runtime's own samples.
  ProfileEvent event = ProfileEvent::cpu;
  std::uint32_t frequency = 99;  ///< In Hz.
  std::uint32_t top = 0;         ///< A table of so many rows on standard output; 0: folded stacks.
  SymbolSettings symbols;
};

/// Of `farport gcdump`. Its duration is the time that the runtime has for all of it.
struct GcdumpSettings : RecordingSettings {
  std::uint32_t top = 0;  ///< How many types; 0: all in a file, the largest in a table.
};

/// Of `farport convert`.
struct ConvertSettings {
  std::string input;  ///< A .nettrace file.
  std::string output;
  std::uint32_t top = 0;
  bool force = false;
};

struct RunSettings {
  std::vector<RemoteSettings> remotes;  ///< Those named before the "--"; may be empty.
  std::vector<std::string> tool;        ///< The tool and its arguments; never empty.
  SessionSettings session;
  LogSettings log;
  bool log_level_given = false;  ///< By a flag, the environment or the file.
  /// A remote that is named in the tool's own arguments, by HOST:PORT or profile.
  std::function<Result<RemoteSettings>(const std::string&)> resolve_remote;
};

}  // namespace farport::config
