#include "cli/commands/agent_program.hpp"

#include <csignal>

#include <unistd.h>

#include "base/resources.hpp"
#include "cli/commands/agent_settings.hpp"
#include "cli/options/commands.hpp"
#include "cli/setup/confine.hpp"
#include "cli/setup/helpers.hpp"
#include "cli/setup/service_manager.hpp"
#include "cli/terminal/terminal_watch.hpp"
#include "transport/signals.hpp"

namespace farport::cli {

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
  // Once it says that it listens, a signal does what it is meant to do.
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
