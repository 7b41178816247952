// farport serve: runs the agent.
#include "cli/commands/agent_program.hpp"
#include "cli/options/commands.hpp"

namespace farport::cli {

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

}  // namespace farport::cli
