// Parses the command line.
#pragma once

#include "cli/options/command_line.hpp"

namespace farport::cli {

/// Thrown where there is nothing to run: help and version were printed (code 0), or the usage was wrong and
/// that was said (code 2).
struct CommandLineDone {
  int exit_code = 0;
};

/// Parses the command line. What stands after "--" is the tool's of `farport run`. Throws CommandLineDone.
[[nodiscard]] CommandLine parse_command_line(int argc, const char* const* argv);

}  // namespace farport::cli
