// The command line: which command, and its flags.
#pragma once

#include <string>

#include "cli/certs.hpp"
#include "cli/commands.hpp"
#include "config/flags.hpp"

namespace farport::cli {

enum class Command {
  serve,
  connect,
  disconnect,
  run,
  ps,
  dump,
  can_i,
  certs_init,
  certs_server,
  certs_client,
  check,
  stdio
};

struct CommandLine {
  Command command = Command::serve;
  config::Flags flags;
  config::StdioSettings stdio;
  CertsInitSettings certs_init;
  CertsIssueSettings certs_issue;
  std::string help_format = "text";  ///< Of `help-all`: text or json.
};

/// Thrown where there is nothing to run: help and version were printed (code 0), or the usage was wrong and
/// that was said (code 2).
struct CommandLineDone {
  int exit_code = 0;
};

/// Parses the command line. What stands after "--" is the tool's of `farport run`. Throws CommandLineDone.
[[nodiscard]] CommandLine parse_command_line(int argc, const char* const* argv);

}  // namespace farport::cli
