#include "cli/agent_program.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <csignal>
#include <limits>

#include <unistd.h>

#include "base/descriptors.hpp"
#include "base/memory_limit.hpp"
#include "cli/commands.hpp"
#include "cli/confine.hpp"
#include "cli/session_options.hpp"
#include "cli/terminal_watch.hpp"
#include "router/agent/agent.hpp"
#include "transport/signals.hpp"

namespace farport::cli {
namespace {

using transport::Loop;

/// The limits that depend on how much memory the agent may use, where there is plenty.
constexpr std::uint64_t kHandshakes = 256;
constexpr std::uint64_t kBufferedBytes = 256ULL << 20;
/// What a handshake under way takes, in OpenSSL for the most part.
constexpr std::uint64_t kHandshakeBytes = 48 * 1024;

Result<std::vector<transport::Address>> resolve_all(const std::vector<config::Address>& addresses) {
  std::vector<transport::Address> all;
  for (const config::Address& address : addresses) {
    // Without the thread pool: threads that run already could not be confined.
    const auto resolved = transport::resolve_here(address.host, address.port);
    if (!resolved) return tl::unexpected(resolved.error());
    all.insert(all.end(), resolved->begin(), resolved->end());
  }
  return all;
}

/// Gives those limits a value that have none yet since it depends on the memory that the agent may use: a
/// sidecar has little.
auth::LimitSettings fit_to_memory(auth::LimitSettings limits) {
  const std::uint64_t memory = memory_limit().value_or(std::numeric_limits<std::uint64_t>::max());
  // The rest is for the agent itself, for the kernel's buffers of its sockets, and for what no count is exact
  // about.
  if (limits.buffered_bytes == 0)
    limits.buffered_bytes = std::clamp(memory / 8 * 3, auth::kLeastBufferedBytes, kBufferedBytes);
  if (limits.handshakes == 0)
    limits.handshakes = std::clamp(memory / 8 / kHandshakeBytes, std::uint64_t{1}, kHandshakes);
  return limits;
}

/// As the system has it: in a pod, the pod's name.
std::string own_host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : std::string();
}

Result<router::AgentSettings> agent_settings(const config::ServeSettings& settings) {
  router::AgentSettings agent;
  agent.host_name = settings.host_name.empty() ? own_host_name() : settings.host_name;
  auto listen = resolve_all(settings.listen);
  if (!listen) return tl::unexpected(listen.error());
  agent.listen = std::move(*listen);
  agent.reuse_port = settings.reuse_port;
  if (settings.insecure_loopback) {
    const auto plain = resolve_all({*settings.insecure_loopback});
    if (!plain) return tl::unexpected(plain.error());
    agent.insecure_loopback = plain->front();
    if (!agent.insecure_loopback->is_loopback()) {
      return fail("listen without TLS on", agent.insecure_loopback->text(), "it is not a loopback address",
                  "use 127.0.0.1 or [::1]");
    }
  }
  agent.discovery.search = settings.search;
  agent.discovery.search_processes = settings.search_processes;
  for (const config::NamedSocket& named : settings.runtimes) {
    agent.discovery.named.push_back({named.name, named.path});
  }
  agent.discovery.rescan = settings.rescan;
  agent.dump = {settings.dump.directory, settings.dump.runtime_directory, settings.dump.max_bytes,
                settings.dump.keep_free_bytes};
  agent.local = settings.local;
  agent.connect_ports = settings.diagnostic_ports;
  agent.resume_after = settings.resume_after;
  agent.limits = fit_to_memory(settings.limits);
  agent.session = session_options(settings.session);
  agent.drain_limit = settings.drain;
  return agent;
}

Result<auth::TlsCredentialsPtr> server_credentials(const config::ServeSettings& settings) {
  if (settings.listen.empty()) return auth::TlsCredentialsPtr{};
  const config::TlsFiles& tls = settings.tls;
  return auth::TlsCredentials::load({tls.cert, tls.key, tls.ca, tls.crl}, auth::Side::server);
}

}  // namespace

int run_agent(const config::ServeSettings& settings, const Log& log, const AgentProgram& program) {
  const Result<void> unprivileged = become_user(settings);
  if (!unprivileged) return program.fatal(unprivileged.error(), kUsage);
  confinement::forbid_core_dumps();
  auto credentials = server_credentials(settings);
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
  prepared->local_for_all = program.linger == std::nullopt;
  router::Agent agent(loop, log, std::move(*prepared), std::move(*credentials), std::move(*policy),
                      std::move(*audit));
  const Result<void> listening = agent.listen();
  if (!listening) return program.fatal(listening.error(), kFailure);
  if (program.on_listening) program.on_listening();
  const transport::SignalWatch signals(loop, {SIGINT, SIGTERM}, [&](int number) {
    log->info("{}: stopping", number == SIGINT ? "interrupted" : "terminated");
    agent.stop();
  });
  TerminalWatch terminal(loop, [&] {
    log->info("the terminal has gone: stopping");
    agent.stop();
  });
  const transport::SignalWatch rotation(loop, {SIGHUP}, [&](int) {
    terminal.hung_up();
    agent.reopen_audit();
    agent.reload_certificates();
  });
  const Result<void> confined = confine_agent(settings, log);
  if (!confined) return program.fatal(confined.error(), kFailure);
  loop.run(agent.run());
  return kSuccess;
}

}  // namespace farport::cli
