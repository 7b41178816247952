#include "cli/options/help_text.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "auth/rules.hpp"
#include "base/version.hpp"
#include "cli/options/commands.hpp"
#include "cli/terminal/table.hpp"
#include "config/declarations.hpp"
#include "config/values.hpp"

namespace farport::cli {

Result<void> check_command_name(const std::string& command) {
  std::vector<std::string> known;
  for (const std::string_view permission : auth::all_permissions()) known.emplace_back(permission);
  if (std::find(known.begin(), known.end(), command) != known.end()) return {};
  const std::string meant = config::nearest(command, known);
  return fail("ask for the command", command, "there is no such protocol command",
              meant.empty() ? "farport can-i AGENT --all lists them" : "did you mean " + meant + "?");
}

namespace {

using nlohmann::ordered_json;

/// The help with options and words wrapped. Command lines stay whole: they are there to be copied.
std::string fitted_help(std::string_view text, std::size_t width) {
  constexpr std::string_view kBetween = "  ";
  std::string all;
  bool goes_on = false;  // A command of several lines.
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    const bool is_command = begin > 0 && (goes_on || line.substr(begin).starts_with("farport "));
    goes_on = line.ends_with('\\');
    // Where what is said of an option begins.
    const std::size_t gap = line.find(kBetween, begin);
    const std::size_t said = gap == std::string_view::npos ? begin : line.find_first_not_of(' ', gap);
    const std::size_t indent = said == std::string_view::npos ? begin : said;
    for (const std::string& part : wrap(line, is_command ? 0 : width, indent)) all += part + "\n";
  }
  return all;
}

std::string_view word_of(config::Takes takes) {
  switch (takes) {
    case config::Takes::nothing:
      return "nothing";
    case config::Takes::maybe_one:
      return "maybe one";
    case config::Takes::one:
      return "one";
    case config::Takes::many:
      break;
  }
  return "many";
}

ordered_json json_of(const config::Description& setting) {
  return {{"key", setting.key},
          {"flag", setting.flag},
          {"variable", setting.variable},
          {"value", setting.value},
          {"takes", word_of(setting.takes)},
          {"type", setting.type},
          {"bounds", setting.bounds},
          {"choices", setting.choices},
          {"default", setting.default_text},
          {"help", setting.help},
          {"common", setting.is_common()},
          {"details", setting.details},
          {"commands", setting.commands}};
}

config::Takes takes_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return config::Takes::nothing;
  return option.get_items_expected_max() > 1 ? config::Takes::many : config::Takes::one;
}

/// The words that CLI::IsMember lets pass: it puts them behind the value's name, as in "TYPE:{mini,full}".
std::vector<std::string> choices_of(const std::string& value) {
  std::vector<std::string> words;
  const std::size_t open = value.find(":{");
  if (open == std::string::npos) return words;
  for (std::size_t begin = open + 2; begin < value.size();) {
    const std::size_t end = value.find_first_of(",}", begin);
    words.push_back(value.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

/// What stands for a value, without what CLI11 says behind it of its checks: "FORMAT:{text,json}" and
/// "MB:INT in [1 - 65536]".
std::string without_checks(const std::string& value) {
  return value.substr(0, std::min(value.find(":{"), value.find(":INT in ")));
}

/// An option, or an argument, which has no names.
ordered_json json_of(const CLI::Option& option) {
  const std::string value = option.get_type_name();
  ordered_json names = ordered_json::array();
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  const config::Takes takes = takes_of(option);
  return {{"names", names},
          {"value", names.empty()                     ? option.get_name()
                    : takes == config::Takes::nothing ? ""
                                                      : without_checks(value)},
          {"takes", word_of(takes)},
          {"required", option.get_required()},
          {"choices", choices_of(value)},
          {"help", option.get_description()}};
}

const config::Description* setting_of(const CLI::App& command, const CLI::Option& option) {
  for (const config::Description& setting : config::descriptions()) {
    if (setting.is_flag_of(command.get_name()) && option.check_lname(setting.flag)) return &setting;
  }
  return nullptr;
}

ordered_json json_of(const CLI::App& command) {
  ordered_json arguments = ordered_json::array();
  ordered_json options = ordered_json::array();
  ordered_json flags = ordered_json::array();
  ordered_json commands = ordered_json::array();
  for (const CLI::Option* option : command.get_options()) {
    if (const config::Description* const setting = setting_of(command, *option)) {
      flags.push_back("--" + setting->flag);
    } else {
      (option->get_positional() ? arguments : options).push_back(json_of(*option));
    }
  }
  for (const CLI::App* each : command.get_subcommands({})) commands.push_back(json_of(*each));
  return {{"name", command.get_name()}, {"summary", command.get_description()},
          {"arguments", arguments},     {"options", options},
          {"settings", flags},          {"commands", commands}};
}

std::string everything_as_json(const CLI::App& app) {
  ordered_json all = json_of(app);
  all["version"] = kVersion;
  for (const config::Description& setting : config::descriptions()) {
    all["all_settings"].push_back(json_of(setting));
  }
  return all.dump(2);
}

/// With that of commands below it.
std::string whole_help(const CLI::App& app, const std::string& name) {
  std::string text = app.help(name);
  for (const CLI::App* command : app.get_subcommands({})) {
    text += "\n" + whole_help(*command, name + " " + command->get_name());
  }
  return text;
}

std::vector<const CLI::Option*> options_in(const CLI::App& app, const std::string& group) {
  return app.get_options(
      [&](const CLI::Option* option) { return option->get_group() == group && option->nonpositional(); });
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  if (mode == CLI::AppFormatMode::Sub) return CLI::Formatter::make_help(app, std::move(name), mode);
  std::string text = make_description(app) + make_usage(app, std::move(name)) + make_positionals(app);
  for (const std::string& group : app->get_groups()) {
    const auto options = options_in(*app, group);
    if (group.empty() || options.empty()) continue;
    if (group == kCommonOptions && mode == CLI::AppFormatMode::Normal) {
      text += "\n" + group + " (certificates, sessions, log …): farport " + app->get_name() + " --help-all\n";
    } else {
      text += make_group(group, false, options);
    }
  }
  return text + make_subcommands(app, mode) + "\n" + make_footer(app);
}

std::string HelpFormatter::make_option_name(const CLI::Option* option, bool is_positional) const {
  std::string name = CLI::Formatter::make_option_name(option, is_positional);
  const std::size_t braces = name.find("{}");
  return braces == std::string::npos ? name : name.replace(braces, 2, "[=" + option->get_type_name() + "]");
}

void print_help(std::string_view text) {
  std::fputs(fitted_help(text, terminal_size(STDOUT_FILENO).columns).c_str(), stdout);
}

void print_help_all(const CLI::App& app, const std::string& format) {
  if (format == "text") {
    // The common options once, at the end.
    const auto common = options_in(*app.get_subcommand(kConnect.name), kCommonOptions);
    return print_help(whole_help(app, app.get_name()) +
                      HelpFormatter().make_group(kCommonOptions, false, common));
  }
  std::fputs((everything_as_json(app) + "\n").c_str(), stdout);
}

}  // namespace farport::cli
