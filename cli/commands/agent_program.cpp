#include "cli/commands/agent_program.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>
#include <limits>

#include <unistd.h>

#include "base/resources.hpp"
#include "cli/options/commands.hpp"
#include "cli/setup/confine.hpp"
#include "cli/setup/helpers.hpp"
#include "cli/setup/listen_addresses.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/setup/service_manager.hpp"
#include "cli/setup/tls_files.hpp"
#include "cli/terminal/terminal_keys.hpp"
#include "config/settings.hpp"
#include "router/agent/agent.hpp"
#include "transport/child_process.hpp"

namespace farport::cli {
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
    limits.buffered_bytes = std::clamp(memory / 8 * 3, auth::kLeastBufferedBytes, kBufferedBytes);
  if (limits.handshakes == 0)
    limits.handshakes = std::clamp(memory / 8 / kHandshakeBytes, std::uint64_t{1}, kHandshakes);
  return limits;
}

/// Resolves addresses and determines what depends on this host: its name and its memory. Fails if an address
/// can't be resolved or is of the wrong kind.
Result<router::AgentSettings> agent_settings(const config::ServeSettings& settings) {
  router::AgentSettings agent;
  agent.host_name = settings.host_name.empty() ? own_host_name() : settings.host_name;
  auto listen = listen_addresses(settings.listen);
  if (!listen) return tl::unexpected(listen.error());
  agent.listen = std::move(*listen);
  for (const config::Address& mirror : settings.dial) {
    agent.dial.push_back({mirror.host, mirror.port, settings.proxy.towards(mirror.host)});
  }
  agent.reuse_port = settings.reuse_port;
  if (settings.insecure_loopback) {
    const auto plain = listen_addresses({*settings.insecure_loopback});
    if (!plain) return tl::unexpected(plain.error());
    agent.insecure_loopback = plain->front();
    if (!agent.insecure_loopback->is_loopback()) {
      return fail("listen without TLS on", agent.insecure_loopback->text(), "it is not a loopback address",
                  "use 127.0.0.1 or [::1]");
    }
  }
  if (settings.admin) {
    auto admin = listen_addresses({*settings.admin});
    if (!admin) return tl::unexpected(admin.error());
    agent.admin = std::move(*admin);
  }
  agent.discovery.search = settings.search;
  agent.discovery.search_processes = settings.search_processes;
  for (const config::NamedSocket& named : settings.runtimes) {
    agent.discovery.named.push_back({named.name, named.path});
  }
  agent.discovery.rescan = settings.rescan;
  agent.dump = {settings.dump.directory, settings.dump.runtime_directory, settings.dump.max_bytes,
                settings.dump.keep_free_bytes};
  if (settings.app_metrics.keep) {
    auto counters = router::CounterSelection::parse(settings.app_metrics.counters);
    if (!counters) return tl::unexpected(counters.error());
    router::CounterLimits limits;
    limits.interval = settings.app_metrics.interval;
    std::string names;
    for (const std::string& each : settings.app_metrics.counters) names += (names.empty() ? "" : ",") + each;
    agent.app_metrics = router::AppMetricsSettings{std::move(*counters), std::move(names), limits};
  }
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
  const ServiceManager manager;
  const Result<void> unprivileged = become_user(settings);
  if (!unprivileged) return program.fatal(unprivileged.error(), kUsage);
  confinement::forbid_core_dumps();
  const auto sampler = start_sampler(settings, log);
  const auto readers = start_readers(settings, log);
  auto credentials = agent_credentials(settings);
  if (!credentials) return program.fatal(credentials.error(), kUsage);
  auto policy = auth::Policy::make(settings.policy);
  if (!policy) return program.fatal(policy.error(), kUsage);
  raise_descriptor_limit();
  Loop loop;
  const auto full = settings.audit_waits ? UnblockedWriter::When::wait : UnblockedWriter::When::drop;
  auto audit = router::Audit::open(loop, log, settings.audit, full);
  if (!audit) return program.fatal(audit.error(), kFailure);
  auto prepared = agent_settings(settings);
  if (!prepared) return program.fatal(prepared.error(), kFailure);
  prepared->linger = program.linger;
  prepared->discovery.tell_of_others = program.tell_of_others;
  prepared->sampler = sampler;
  prepared->readers = readers;
  prepared->local_for_all = program.linger == std::nullopt;
  if (settings.socket_activation) {
    auto inherited = inherited_sockets();
    if (!inherited) return program.fatal(inherited.error(), kUsage);
    prepared->inherited = std::move(*inherited);
  }
  router::Agent agent(loop, log, std::move(*prepared), std::move(*credentials), std::move(*policy),
                      std::move(*audit));
  const transport::SignalWatch signals(loop, {SIGINT, SIGTERM}, [&](int number) {
    log->info("{}: stopping", number == SIGINT ? "interrupted" : "terminated");
    manager.stopping();
    agent.stop();
  });
  TerminalWatch terminal(loop, [&] {
    log->info("the terminal has gone: stopping");
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
  const Result<void> listening = agent.listen();
  if (!listening) return program.fatal(listening.error(), kFailure);
  const auto confined = confine_agent(settings, log);
  if (!confined) return program.fatal(confined.error(), kFailure);
  agent.confined_by({confined->files, confined->system_calls});
  manager.ready();
  if (program.on_listening) program.on_listening();
  transport::Task<void> alive = manager.stay_alive(loop);
  alive.start();
  loop.run(agent.run());
  return kSuccess;
}

}  // namespace farport::cli
