// The flags of the commands for the first five minutes.
#pragma once

#include "cli/options/recording_options.hpp"

namespace farport::cli {

/// Adds `quickstart` and `join` to `app`; they parse into `line`, which must outlive it.
[[nodiscard]] std::vector<CommandChoice> add_quickstart_commands(CLI::App& app, CommandLine& line);

}  // namespace farport::cli
