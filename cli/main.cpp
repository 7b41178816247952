#include <csignal>
#include <cstdio>
#include <exception>
#include <tuple>

#include <fcntl.h>
#include <nss.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/resources.hpp"
#include "cli/commands/certs.hpp"
#include "cli/commands/quickstart.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/terminal/passphrases.hpp"
#include "cli/terminal/table.hpp"
#include "config/resolve.hpp"
#include "confinement/confinement.hpp"

namespace farport::cli {
namespace {

template <typename Settings>
int run_with(config::Resolved<Settings> settings, int (*command)(const Settings&)) {
  if (!settings) return report(settings.error());
  // While there is a terminal: a mirror may leave it.
  if (auto unlocked = unlock(*settings); !unlocked) return report(unlocked.error(), kUsage);
  return command(*settings);
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
    case Command::trace:
      return run_with(config::resolve_trace(line.flags), trace);
    case Command::counters:
      return run_with(config::resolve_counters(line.flags), counters);
    case Command::top:
      return run_with(config::resolve_top(line.flags), top);
    case Command::logs:
      return run_with(config::resolve_logs(line.flags), logs);
    case Command::exceptions:
      return run_with(config::resolve_recording(line.flags, "exceptions"), exceptions);
    case Command::stacks:
      return run_with(config::resolve_recording(line.flags, "stacks"), stacks);
    case Command::profile:
      return run_with(config::resolve_profile(line.flags), profile);
    case Command::gcdump:
      return run_with(config::resolve_gcdump(line.flags), gcdump);
    case Command::convert:
      return convert(line.convert);
    case Command::can_i:
      return run_with(config::resolve_can_i(line.flags), can_i);
    case Command::doctor:
      return run_with(config::resolve_doctor(line.flags), doctor);
    case Command::check:
      return check(line.flags);
    case Command::stdio:
      return stdio(line.stdio);
    case Command::quickstart:
      return quickstart(line.quickstart);
    case Command::join:
      return join(line.flags);
    case Command::certs_init:
      return certs_init(line.certs_init);
    case Command::certs_server:
      return certs_server(line.certs_issue);
    case Command::certs_client:
      return certs_client(line.certs_issue);
    case Command::certs_bundle:
      return certs_bundle(line.certs_bundle);
  }
  return kUsage;
}

/// Where this program is linked statically: has the C library look users, groups and hosts up by what is
/// built into it, and not by shared libraries of a host that may have another one.
void use_built_in_lookups() {
  if (::getauxval(AT_BASE) != 0) return;
  for (const char* database : {"passwd", "group"}) ::__nss_configure_lookup(database, "files");
  ::__nss_configure_lookup("hosts", "files dns");
}

/// Where a standard descriptor is closed, keeps its number from whatever is opened next: that would be
/// written to, or read. Writing to it fails as before.
void hold_standard_descriptors() {
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(standard, F_GETFD) < 0)
      std::ignore = ::open("/dev/null", standard == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace
}  // namespace farport::cli

int main(int argc, char** argv) {
  farport::cli::hold_standard_descriptors();
  farport::cli::use_built_in_lookups();
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
