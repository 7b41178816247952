// What the command line says: which command, and what is given to it.
#pragma once

#include <string>

#include "cli/commands/certs.hpp"
#include "cli/commands/quickstart.hpp"
#include "config/flags.hpp"
#include "config/settings.hpp"

namespace farport::cli {

enum class Command {
  serve,
  connect,
  disconnect,
  run,
  ps,
  dump,
  trace,
  counters,
  top,
  logs,
  exceptions,
  stacks,
  profile,
  gcdump,
  convert,
  can_i,
  certs_init,
  certs_server,
  certs_client,
  certs_bundle,
  check,
  doctor,
  stdio,
  quickstart,
  join
};

struct CommandLine {
  Command command = Command::serve;
  config::Flags flags;
  config::StdioSettings stdio;
  config::ConvertSettings convert;
  QuickstartSettings quickstart;
  CertsInitSettings certs_init;
  CertsIssueSettings certs_issue;
  CertsBundleSettings certs_bundle;
  std::string help_format = "text";  ///< Of `help-all`: text or json.
};

}  // namespace farport::cli
