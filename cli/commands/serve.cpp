// farport serve: runs the agent.
#include <tuple>

#include <CLI/CLI.hpp>

#include "cli/commands/agent_program.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "config/resolve.hpp"

namespace farport::cli {
namespace {

int serve(const config::ServeSettings& settings) {
  const auto log = make_log(settings.log.level, settings.log.format);
  if (!log) return report(log.error());
  AgentProgram program;
  program.fatal = [&log](const Error& error, int exit_code) {
    (*log)->error("{}", error.message());
    return exit_code;
  };
  return run_agent(settings, *log, program);
}

constexpr const char* kServeAbout =
    "The agent: runs beside .NET runtimes (a sidecar, a host daemon), finds their diagnostic sockets and\n"
    "offers them over mutual TLS. Run it as the same user as the runtimes, or as root.";
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

const Command kServe{"serve", "The agent, beside the runtimes: offers them over mutual TLS", kServeAbout,
                     kServeExamples, add_serve_options};

}  // namespace farport::cli
