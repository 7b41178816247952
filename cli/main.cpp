#include <csignal>
#include <cstdio>
#include <exception>

#include "base/resident_memory.hpp"
#include "cli/certs.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/text.hpp"
#include "config/resolve.hpp"
#include "confinement/confinement.hpp"

namespace farport::cli {
namespace {

template <typename Settings>
int run_with(const config::Resolved<Settings>& settings, int (*command)(const Settings&)) {
  return settings ? command(*settings) : report(settings.error());
}

int dispatch(CommandLine line) {
  config::take_environment(line.flags, config::process_environment());
  switch (line.command) {
    case Command::serve:
      return run_with(config::resolve_serve(line.flags), serve);
    case Command::connect:
      return run_with(config::resolve_connect(line.flags), connect);
    case Command::disconnect:
      return disconnect(line.flags);
    case Command::run:
      return run_with(config::resolve_run(line.flags), run);
    case Command::ps:
      return run_with(config::resolve_ps(line.flags), ps);
    case Command::dump:
      return run_with(config::resolve_dump(line.flags), dump);
    case Command::can_i:
      return run_with(config::resolve_can_i(line.flags), can_i);
    case Command::check:
      return check(line.flags);
    case Command::stdio:
      return stdio(line.stdio);
    case Command::certs_init:
      return certs_init(line.certs_init);
    case Command::certs_server:
      return certs_server(line.certs_issue);
    case Command::certs_client:
      return certs_client(line.certs_issue);
  }
  return kUsage;
}

}  // namespace
}  // namespace farport::cli

int main(int argc, char** argv) {
  farport::return_large_memory();
  // A broken pipe is an error value of the write that meets it.
  std::signal(SIGPIPE, SIG_IGN);
  farport::confinement::hide_memory();
  try {
    return farport::cli::dispatch(farport::cli::parse_command_line(argc, argv));
  } catch (const farport::cli::CommandLineDone& done) {
    return done.exit_code;
  } catch (const std::exception& error) {
    farport::cli::print_message(error.what());
    return farport::cli::kFailure;
  }
}
