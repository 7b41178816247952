#include "cli/commands/serve.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string>
#include <tuple>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/resources.hpp"
#include "base/text.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/setup/confine.hpp"
#include "cli/setup/helpers.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/setup/rules.hpp"
#include "cli/terminal/terminal_keys.hpp"
#include "config/resolve.hpp"
#include "config/settings.hpp"
#include "router/agent/agent.hpp"
#include "transport/child_process.hpp"

namespace farport::cli {
namespace {

/// The first inherited descriptor, and more sockets than anybody has (sd-daemon.h).
constexpr int kFirstSocket = 3;
constexpr std::uint64_t kMaxServedSockets = 64;

/// Reads and removes a variable that is for this process only, so that child processes don't use it.
std::string take_variable(const char* name) {
  const char* value = std::getenv(name);
  const std::string text = value == nullptr ? "" : value;
  ::unsetenv(name);
  return text;
}

/// Whether a variable with a pid means this process; an empty one means any.
bool is_for_us(const std::string& pid) {
  return pid.empty() || number_in<std::uint64_t>(pid) == static_cast<std::uint64_t>(::getpid());
}

/// Connects to the manager's socket: a path, or an abstract name after "@" (unix(7)).
UniqueFd connect_to(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const bool fits = name.size() > 1 && name.size() < sizeof address.sun_path;
  if (!fits || (name[0] != '/' && name[0] != '@')) return {};
  name.copy(address.sun_path, name.size());
  if (name[0] == '@') address.sun_path[0] = '\0';
  UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  if (!socket || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) return {};
  return socket;
}

int option_of(int socket, int option) {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(socket, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

bool is_listening_stream(int socket) {
  const int domain = option_of(socket, SO_DOMAIN);
  return (domain == AF_INET || domain == AF_INET6 || domain == AF_UNIX) &&
         option_of(socket, SO_TYPE) == SOCK_STREAM && option_of(socket, SO_ACCEPTCONN) == 1;
}

}  // namespace

ServiceManager::ServiceManager() : socket_(connect_to(take_variable("NOTIFY_SOCKET"))) {
  const auto microseconds = number_in<std::uint64_t>(take_variable("WATCHDOG_USEC"));
  const bool ours = is_for_us(take_variable("WATCHDOG_PID"));
  if (!socket_ || !ours || !microseconds) return;
  const std::uint64_t milliseconds = *microseconds / 1000;
  if (milliseconds > 1) watchdog_ = transport::Milliseconds(milliseconds);
}

void ServiceManager::reloading() const {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t microseconds = std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
  tell("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(microseconds));
}

transport::Task<void> ServiceManager::stay_alive(transport::Loop& loop) const {
  while (watchdog_) {
    tell("WATCHDOG=1");
    co_await transport::sleep(loop, *watchdog_ / 2);
  }
}

void ServiceManager::tell(std::string_view state) const {
  // Never waits for a manager that does not read.
  if (socket_) ::send(socket_.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

Result<std::vector<UniqueFd>> inherited_sockets() {
  constexpr const char* kListen = "listen on the sockets passed by systemd";
  const bool ours = is_for_us(take_variable("LISTEN_PID"));
  const std::uint64_t count = number_in<std::uint64_t>(take_variable("LISTEN_FDS")).value_or(0);
  ::unsetenv("LISTEN_FDNAMES");
  if (!ours || count == 0 || count > kMaxServedSockets) {
    return fail(kListen, {}, "systemd passed none",
                "start farport by its socket unit: systemctl start farport.socket");
  }
  std::vector<UniqueFd> sockets;
  for (int fd = kFirstSocket; fd < kFirstSocket + static_cast<int>(count); ++fd) {
    if (!is_listening_stream(fd)) {
      return fail(kListen, "descriptor " + std::to_string(fd), "it is not a listening stream socket",
                  "use ListenStream= with Accept=no");
    }
    sockets.emplace_back(fd);
    ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  }
  return sockets;
}

namespace {

int serve(const config::ServeSettings& settings) {
  ASSIGN_OR_REPORT(const auto log, make_log(settings.log.level, settings.log.format));
  AgentProgram program;
  program.fatal = [&log](const Error& error, int exit_code) {
    log->error("{}", error.message());
    return exit_code;
  };
  return run_agent(settings, log, program);
}

constexpr const char* kServeAbout =
    "Starts an agent, which runs beside .NET runtimes (as a sidecar or a host daemon), finds their\n"
    "diagnostic sockets and offers them over mutual TLS. Run it as the runtimes' user, or as root.";
constexpr const char* kServeExamples = R"(Examples:
  farport serve --listen 0.0.0.0:9000 --allow-cn alice=operator \
      --tls-cert agent.crt --tls-key agent.key --tls-ca ca.crt
  farport serve --listen [::]:9000 --search /tmp --search /run/app \
      --allow-uri 'spiffe://acme.example/ns/*/sa/oncall' …
  farport serve --diagnostic-port /diag/farport.sock …
      (for runtimes with DOTNET_DiagnosticPorts=/diag/farport.sock)
  farport serve --dial laptop.example:9443 …
      (where nobody can dial us: farport connect --accept 0.0.0.0:9443 there)
  farport serve --config /etc/farport/agent.toml)";

RunCommand add_serve_options(CLI::App& options, config::Flags& flags) {
  // All of its options are settings.
  std::ignore = options;
  return [&flags] { return run_with(config::resolve_serve(flags), serve); };
}

}  // namespace

const Command kServe{"serve", "Start an agent, beside the runtimes: offer them over mutual TLS", kServeAbout,
                     kServeExamples, add_serve_options};

namespace {

/// Default limits on a host with enough memory.
constexpr std::uint64_t kHandshakes = 256;
constexpr std::uint64_t kBufferedBytes = 256ULL << 20;
/// Memory of a TLS handshake in progress, most of it OpenSSL's.
constexpr std::uint64_t kHandshakeBytes = 48 * 1024;

/// Sets the limits that default to a value by available memory, since a sidecar has little.
auth::LimitSettings fit_to_memory(auth::LimitSettings limits) {
  const std::uint64_t memory = memory_limit().value_or(std::numeric_limits<std::uint64_t>::max());
  // The rest is for the agent itself, for its sockets' kernel buffers, and a margin for inexact counts.
  if (limits.buffered_bytes == 0)
    limits.buffered_bytes = std::clamp(memory / 8 * 3, auth::kMinBufferedBytes, kBufferedBytes);
  if (limits.handshakes == 0)
    limits.handshakes = std::clamp(memory / 8 / kHandshakeBytes, std::uint64_t{1}, kHandshakes);
  return limits;
}

/// Resolves addresses and determines what depends on this host: its name and its memory. Fails if an address
/// can't be resolved or is of the wrong kind.
Result<router::AgentSettings> agent_settings(const config::ServeSettings& settings) {
  router::AgentSettings agent;
  agent.host_name = settings.host_name.empty() ? own_host_name() : settings.host_name;
  ASSIGN_OR_RETURN(auto listen, listen_addresses(settings.listen));
  agent.listen = std::move(listen);
  for (const config::Address& mirror : settings.dial) {
    agent.dial.push_back({mirror.host, mirror.port, settings.proxy.towards(mirror.host)});
  }
  agent.reuse_port = settings.reuse_port;
  if (settings.insecure_loopback) {
    ASSIGN_OR_RETURN(const auto plain, listen_addresses({*settings.insecure_loopback}));
    agent.insecure_loopback = plain.front();
    if (!agent.insecure_loopback->is_loopback()) {
      return fail("listen without TLS on", agent.insecure_loopback->text(), "it is not a loopback address",
                  "use 127.0.0.1 or [::1]");
    }
  }
  if (settings.admin) {
    ASSIGN_OR_RETURN(auto admin, listen_addresses({*settings.admin}));
    agent.admin = std::move(admin);
  }
  agent.discovery = {settings.search, settings.search_processes, settings.named, settings.rescan};
  agent.dump = {settings.dump.directory, settings.dump.runtime_directory, settings.dump.max_bytes,
                settings.dump.keep_free_bytes};
  ASSIGN_OR_RETURN(agent.app_metrics, counters_of(settings));
  ASSIGN_OR_RETURN(agent.rules, rules_of(settings));
  const config::RecorderSettings& recorder = settings.recorder;
  if (recorder.keep) agent.recorder = router::RecorderSettings{recorder.samples, recorder.runtime_bytes};
  agent.artifacts_directory = settings.artifacts.directory;
  agent.artifacts = {settings.artifacts.bytes, settings.artifacts.age};
  agent.stores = stores_of(settings);
  agent.local = settings.local;
  agent.connect_ports = settings.diagnostic_ports;
  agent.resume_after = settings.resume_after;
  agent.limits = fit_to_memory(settings.limits);
  agent.session = session_options(settings.session);
  agent.drain_limit = settings.drain;
  return agent;
}

/// The agent's TLS credentials; null if it serves nobody over TLS. Fails if files can't be used.
Result<auth::TlsCredentialsPtr> agent_credentials(const config::ServeSettings& settings) {
  if (!settings.uses_tls()) return auth::TlsCredentialsPtr{};
  return auth::TlsCredentials::load(tls_files(settings.tls), auth::Side::server);
}

}  // namespace

std::string own_host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : std::string();
}

using transport::Loop;

int run_agent(const config::ServeSettings& settings, const Log& log, const AgentProgram& program) {
  const auto& report = program.fatal;
  const ServiceManager manager;
  // It may have to run commands as other users than the agent will be.
  ASSIGN_OR_REPORT(const auto commands, start_commands(settings), kUsage);
  REPORT_IF_ERROR(become_user(settings), kUsage);
  confinement::forbid_core_dumps();
  const auto sampler = start_sampler(settings, log);
  const auto readers = start_readers(settings, log);
  ASSIGN_OR_REPORT(auto credentials, agent_credentials(settings), kUsage);
  ASSIGN_OR_REPORT(auto policy, auth::Policy::make(settings.policy), kUsage);
  raise_descriptor_limit();
  Loop loop;
  const auto full = settings.audit_waits ? UnblockedWriter::When::wait : UnblockedWriter::When::drop;
  ASSIGN_OR_REPORT(auto audit, router::Audit::open(loop, log, settings.audit, full), kFailure);
  ASSIGN_OR_REPORT(auto prepared, agent_settings(settings), kFailure);
  prepared.linger = program.linger;
  prepared.discovery.tell_of_others = program.tell_of_others;
  prepared.sampler = sampler;
  prepared.readers = readers;
  prepared.commands = commands;
  prepared.local_for_all = program.linger == std::nullopt;
  if (settings.socket_activation) {
    ASSIGN_OR_REPORT(auto inherited, inherited_sockets(), kUsage);
    prepared.inherited = std::move(inherited);
  }
  router::Agent agent(loop, log, std::move(prepared), std::move(credentials), std::move(policy),
                      std::move(audit));
  const transport::SignalWatch signals(loop, {SIGINT, SIGTERM}, [&](int number) {
    log->info("{}: stopping", number == SIGINT ? "interrupted" : "terminated");
    manager.stopping();
    agent.stop();
  });
  TerminalWatch terminal(loop, [&] {
    log->info("the terminal was closed: stopping");
    agent.stop();
  });
  const transport::SignalWatch rotation(loop, {SIGHUP}, [&](int) {
    terminal.hung_up();
    manager.reloading();
    agent.reopen_audit();
    agent.reload_certificates();
    manager.ready();
  });
  // From the moment that it reports to listen, signals must have their final effect.
  REPORT_IF_ERROR(agent.listen(), kFailure);
  REPORT_IF_ERROR(confine_agent(settings, log), kFailure);
  manager.ready();
  if (program.on_listening) program.on_listening();
  transport::Task<void> alive = manager.stay_alive(loop);
  alive.start();
  loop.run(agent.run());
  return kSuccess;
}

}  // namespace farport::cli
