// farport convert-rules: makes rules of an agent from those of dotnet-monitor.
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/escape.hpp"
#include "base/files.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/setup/rules.hpp"
#include "cli/terminal/table.hpp"
#include "config/dotnet_monitor.hpp"
#include "config/file.hpp"

namespace farport::cli {
namespace {

constexpr std::size_t kLargestRules = std::size_t{4} << 20;
constexpr const char* kHead =
    "# What these take is kept in the directory of [artifacts]. Where dotnet-monitor's file names an "
    "egress,\n"
    "# each [[egress]] here gets what it takes.\n";

std::string commented(const std::string& text) {
  return "# " + escape(text) + "\n";
}

Result<std::string> rules_text(const std::string& path) {
  if (path != "-") return read_regular_file("rules", path, kLargestRules);
  auto text = read_limited(STDIN_FILENO, kLargestRules);
  if (!text) return fail_errno("read", "standard input", errno);
  return std::move(*text);
}

int convert_rules(const std::string& path) {
  const auto text = rules_text(path);
  if (!text) return report(text.error());
  const auto rules = config::rules_of_dotnet_monitor(*text);
  if (!rules) return report(rules.error());
  std::fputs(kHead, stdout);
  std::size_t left_out = 0;
  for (const config::ConvertedRule& each : *rules) {
    std::string block = "\n";
    for (const std::string& note : each.notes) block += commented(note);
    const auto usable = each.why_not.empty() ? check_actions(each.rule) : Result<void>();
    const std::string why = usable ? each.why_not : usable.error().message();
    if (why.empty()) {
      block += config::to_toml(each.rule);
    } else {
      ++left_out;
      const std::string message = fmt::format("{} is left out: {}", each.from, why);
      block += commented(message);
      print_message(message);
    }
    std::fputs(block.c_str(), stdout);
  }
  return left_out == 0 ? kSuccess : kFailure;
}

constexpr const char* kConvertRulesAbout =
    "Prints rules for an agent's file, made from the CollectionRules in a configuration of dotnet-monitor.\n"
    "Comments say what is not the same. A rule that can't be made is left out, which is said, and the exit\n"
    "code is 1.";
constexpr const char* kConvertRulesExamples = R"(Examples:
  farport convert-rules settings.json >> farport.toml
  farport check --config farport.toml)";

RunCommand add_convert_rules_options(CLI::App& options, config::Flags& flags) {
  std::ignore = flags;
  const auto path = std::make_shared<std::string>();
  options.add_option("FILE", *path, "JSON file of dotnet-monitor, or - for standard input")->required();
  return [path] { return convert_rules(*path); };
}

}  // namespace

const Command kConvertRules{"convert-rules", "Convert rules of dotnet-monitor into those of an agent",
                            kConvertRulesAbout, kConvertRulesExamples, add_convert_rules_options};

}  // namespace farport::cli
