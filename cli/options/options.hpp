// Parses the command line.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/options/command_line.hpp"

namespace farport::cli {

// Command lines that are nearly right: what people write in a wrong place, and where it belongs.

/// `farport help COMMAND` as `farport COMMAND --help`.
[[nodiscard]] std::vector<std::string> with_help_option(std::vector<std::string> words);

struct Misplaced {
  std::string what;
  std::string hint;  ///< The command line as it should be.
};
/// Options before the command, and a tool of `run` without the -- before it. `commands`: the commands' names.
[[nodiscard]] std::optional<Misplaced> find_misplaced(const std::vector<std::string>& words,
                                                      const std::vector<std::string>& commands);

/// What could be meant by words that are none of those that are known: "did you mean …".
[[nodiscard]] std::vector<std::string> hints_for(const std::vector<std::string>& words,
                                                 const std::vector<std::string>& known);

}  // namespace farport::cli

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

/// The flags of the commands for the first five minutes.
/// Adds `quickstart` and `join` to `app`; they parse into `line`, which must outlive it.
[[nodiscard]] std::vector<CommandChoice> add_quickstart_commands(CLI::App& app, CommandLine& line);

/// Thrown where there is nothing to run: help and version were printed (code 0), or the usage was wrong and
/// that was said (code 2).
struct CommandLineDone {
  int exit_code = 0;
};

/// Parses the command line. What stands after "--" is the tool's of `farport run`. Throws CommandLineDone.
[[nodiscard]] CommandLine parse_command_line(int argc, const char* const* argv);

}  // namespace farport::cli
