#include <csignal>
#include <cstdio>
#include <exception>
#include <tuple>

#include <fcntl.h>
#include <nss.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/resources.hpp"
#include "cli/options/options.hpp"
#include "cli/terminal/table.hpp"
#include "confinement/confinement.hpp"

namespace farport::cli {
namespace {

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
    const auto line = farport::cli::parse_command_line(argc, argv);
    farport::config::take_environment(line->flags, farport::config::process_environment());
    return line->run();
  } catch (const farport::cli::CommandLineDone& done) {
    return done.exit_code;
  } catch (const std::exception& error) {
    farport::cli::print_message(error.what());
    return farport::cli::kFailure;
  }
}
