// The flags of the commands that look at a runtime's events.
#pragma once

#include <utility>
#include <vector>

#include "cli/options/command_line.hpp"

namespace CLI {
class App;
}

namespace farport::cli {

using CommandChoice = std::pair<CLI::App*, Command>;

/// TARGET, and the flags by which the stock tools name a process, for a command about one runtime.
void add_target(CLI::App* command, config::Flags& flags);

/// Adds them to `app`; they parse into `line`, which must outlive it. The settings of each are still to be
/// added.
[[nodiscard]] std::vector<CommandChoice> add_recording_commands(CLI::App& app, CommandLine& line);

/// The command that makes other files of one that is there.
[[nodiscard]] CLI::App* add_convert(CLI::App& app, config::ConvertSettings& into);

}  // namespace farport::cli
