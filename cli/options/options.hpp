// Options: parsing the command line, and what several commands may be given.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/options/commands.hpp"
#include "cli/terminal/passphrases.hpp"
#include "config/file.hpp"

namespace farport::cli {

/// What a command line says.
struct CommandLine {
  config::Flags flags;
  RunCommand run;
};

/// Thrown where there is nothing to run: help and version were printed (code 0), or the usage was wrong and
/// that was said (code 2).
struct CommandLineDone {
  int exit_code = 0;
};

/// Parses the command line. What stands after "--" is the tool's of `farport run`. Throws CommandLineDone.
[[nodiscard]] std::unique_ptr<CommandLine> parse_command_line(int argc, const char* const* argv);

/// Runs a command with its settings, unless something is wrong with them, which is reported.
template <typename Settings>
int run_with(config::Resolved<Settings> settings, int (*command)(const Settings&)) {
  if (!settings) return report(settings.error());
  // While there is a terminal: a mirror may leave it.
  if (auto unlocked = unlock(*settings); !unlocked) return report(unlocked.error(), kUsage);
  return command(*settings);
}

/// The flags of the settings that the command has. Each command gets them behind its own options; one that
/// needs them before adds them itself.
void add_settings(CLI::App& options, config::Given& given);
/// AGENT, any number of them.
void add_remotes(CLI::App& options, config::Flags& flags);
/// TARGET, and the flags by which the stock tools name a process, for a command about one runtime.
void add_target(CLI::App& options, config::Flags& flags);
/// A flag that may be given several times, each time with one value.
void add_list(CLI::App& options, const std::string& name, std::vector<std::string>& into,
              const std::string& help, const std::string& type);
/// --output FILE and --force.
void add_output(CLI::App& options, config::Flags& flags, const char* help);
/// --duration TIME.
/// --keep: the agent keeps what is taken.
void add_keep(CLI::App& options, config::Flags& flags);
void add_duration(CLI::App& options, config::Flags& flags, const char* help);
/// --top, --top=ROWS
void add_top(CLI::App& options, std::uint32_t& top);
/// Output for programs: --format of these words, and --json where that is one of them. People know one or the
/// other from other tools, so each command has both.
void add_format(CLI::App& options, std::string& format, const char* help, std::vector<std::string> words);
/// The same for a command that prints text or JSON: --json, and --format text or json.
void add_json_option(CLI::App& options, bool& json, const char* help);

// What several of them say in their help.
inline constexpr const char* kAgentHelp =
    "HOST:PORT of an agent, ssh://HOST, podman://CONTAINER, docker://CONTAINER, k8s://POD, "
    "k8s://NAMESPACE/deploy/NAME, or a profile of the configuration file";
inline constexpr const char* kJsonLinesHelp = "Print each change as one line of JSON";
inline constexpr const char* kDetachHelp =
    "Run in the background: return once the runtimes are listed, and run until farport disconnect";
inline constexpr const char* kUntilStopped = "How long to record, such as 30s or 00:00:30 [until Ctrl-C]";
inline constexpr const char* kInPlaceOfOutput = "Output file [standard output]";
inline constexpr const char* kProfileForms =
    "Output file; its extension chooses the format: .html or .svg (flame graph), .speedscope.json, .pb.gz "
    "(pprof), .txt (perf script), .folded; with --wall also .nettrace [table on a terminal, else folded "
    "stacks]";

}  // namespace farport::cli
