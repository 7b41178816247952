#include "cli/options/help.hpp"
#include "cli/options/help_text.hpp"
#include "cli/options/options.hpp"

namespace farport::cli {
namespace {

CommandChoice add_quickstart(CLI::App& app, QuickstartSettings& into) {
  CLI::App* quickstart =
      add_command(app, "quickstart", "Beside the runtimes: an agent at once, and one line that leads to it",
                  kQuickstartAbout, kQuickstartExamples);
  quickstart->add_option("HOST", into.host, "The name or address by which the laptop reaches this host");
  quickstart->add_option("--listen", into.listen, "Where to listen [" + into.listen + "]")
      ->type_name("ADDR:PORT");
  quickstart->add_option("--role", into.role, "What whoever joins may do [" + into.role + "]")
      ->type_name("ROLE");
  return {quickstart, Command::quickstart};
}

CommandChoice add_join(CLI::App& app, config::Flags& flags) {
  CLI::App* join = add_command(app, "join", "Beside the tools: connects to what a quickstart's line leads to",
                               kJoinAbout, kJoinExamples);
  join->add_option_function<std::string>(
      "AGENT", [&flags](const std::string& agent) { flags.remotes = {agent}; },
      "HOST:PORT in place of the line's own, such as that of a port-forward");
  add_json_option(join, flags.json, kJsonLinesHelp);
  join->add_flag("--detach", flags.detach, kDetachHelp);
  return {join, Command::join};
}

}  // namespace

std::vector<CommandChoice> add_quickstart_commands(CLI::App& app, CommandLine& line) {
  return {add_quickstart(app, line.quickstart), add_join(app, line.flags)};
}

}  // namespace farport::cli
