#include "cli/options/options.hpp"

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <tuple>

#include <nghttp2/nghttp2ver.h>
#include <openssl/crypto.h>
#include <uv.h>

#include <CLI/CLI.hpp>

#include "base/version.hpp"
#include "cli/options/help_text.hpp"
#include "cli/options/usage.hpp"
#include "cli/output/profile_output.hpp"
#include "cli/terminal/table.hpp"
#include "config/declarations.hpp"
#include "config/values.hpp"

namespace farport::cli {
namespace {

constexpr const char* kAbout =
    "farport makes .NET runtimes on another host look local, over mutual TLS or your own ssh,\n"
    "so that the stock dotnet-trace, dotnet-counters, dotnet-dump … work on them unchanged.\n"
    "\n"
    "Most commands take a TARGET, which says where the runtimes are:\n"
    "  ssh://HOST  podman://CONTAINER  docker://CONTAINER  k8s://POD  k8s://NAMESPACE/deploy/NAME\n"
    "      nothing has to be installed there: farport deploys itself\n"
    "  HOST:PORT\n"
    "      an agent: farport serve listens there\n"
    "  TARGET/RUNTIME selects one of several runtimes by name, pid or id\n";

constexpr const char* kExamples = R"(Examples:
  With nothing installed on the other side:
    farport ps ssh://ops@web-3
    farport profile podman://orders -o flames.html
    farport run k8s://prod/deploy/orders -- dotnet-trace collect -n orders
  Create certificates, once, on a trusted host:
    farport certs init certs
    farport certs server certs --name agent --dns orders.example
    farport certs client certs --name alice
    farport certs bundle certs --name agent
    farport certs bundle certs --name alice
  Beside the application, with the bundle agent.pem:
    farport serve --listen 0.0.0.0:9000 --allow-cn alice=operator \
        --tls-bundle agent.pem
  Beside the tools, with the bundle alice.pem:
    farport connect --detach orders.example:9000 --tls-bundle alice.pem
    dotnet-trace ps
    farport disconnect --all
  A mirror for one tool only:
    farport run -- dotnet-trace collect --diagnostic-port orders.example:9000

Set the bundle also by FARPORT_TLS_BUNDLE or in ~/.config/farport/config.toml,
or use separate files: --tls-cert, --tls-key and --tls-ca.
See "farport COMMAND --help" for a command, "farport help-all" for all.)";

constexpr const char* kHelpAllAbout =
    "Prints the help of every command or, as JSON, all commands, options and settings of the configuration:\n"
    "names, types, bounds, defaults. The manual pages and the completions are generated from that.";
constexpr const char* kHelpAllExamples = R"(Examples:
  farport help-all
  farport help-all --format json)";

constexpr const char* kJson = "json";
/// CLI11's group of options that --help leaves out: each of these says the same as one that is there. Manual
/// pages and completions have them.
constexpr const char* kHidden = "";

std::string version_text() {
  return "farport " + std::string(kVersion) + " (" + OpenSSL_version(OPENSSL_VERSION) + ", libuv " +
         uv_version_string() + ", nghttp2 " + NGHTTP2_VERSION + ")";
}

/// What --help says of a setting: also its variable, and its default where there is one.
std::string help_of(const config::Description& setting) {
  const std::string& otherwise = setting.default_text;
  const bool has_default = !otherwise.empty() && otherwise != "none" && otherwise != "false";
  return setting.help + (setting.takes == config::Takes::many ? "; may be repeated [" : " [") +
         setting.variable + (has_default ? "; " + otherwise : "") + "]";
}

CLI::Option* add_setting(CLI::App& options, const config::Description& setting, config::Given& given) {
  const std::string flag = "--" + setting.flag;
  const auto take = [&given, name = setting.flag](const std::string& text) { given[name] = {text}; };
  const auto take_all = [&given, name = setting.flag](const std::vector<std::string>& texts) {
    given[name] = texts;
  };
  switch (setting.takes) {
    case config::Takes::nothing:
      return options.add_flag_callback(
          flag, [take] { take(""); }, help_of(setting));
    case config::Takes::maybe_one:
      // The braces: without a value it is given "". CLI11 calls nothing for that, so it fills the place
      // itself.
      return options.add_flag(flag + "{}", given[setting.flag], help_of(setting))->type_name(setting.value);
    case config::Takes::one:
      return options.add_option_function<std::string>(flag, take, help_of(setting))->type_name(setting.value);
    case config::Takes::many:
      break;
  }
  return options.add_option_function<std::vector<std::string>>(flag, take_all, help_of(setting))
      ->type_name(setting.value)
      ->allow_extra_args(false);
}

/// What CLI11 parses into, and which of the commands was chosen. A command's options are made when it is
/// chosen: those of all of them take half a MiB.
class Parser {
 public:
  /// Parses into `flags`, which must outlive this.
  explicit Parser(config::Flags& flags) : flags_(flags) {
    // Before there are commands, which take it over.
    app_.formatter(std::make_shared<HelpFormatter>());
    for (const Command* const command : kCommands) add(*command);
    app_.footer(std::string("\n") + kExamples);
    app_.require_subcommand(1);
    app_.set_version_flag("--version", version_text());
  }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  [[nodiscard]] CLI::App& app() { return app_; }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const CLI::App* command : app_.get_subcommands({})) names.push_back(command->get_name());
    return names;
  }
  [[nodiscard]] const RunCommand& chosen() const { return chosen_; }

  /// Adds the options of all commands, for who asks about them.
  void add_all_options() {
    for (const auto& [command, options] : commands_) add_options(*command, *options);
  }

 private:
  void add(const Command& command) {
    const std::string name = command.name;
    const std::size_t space = name.find(' ');
    CLI::App& parent = space == std::string::npos ? app_ : *app_.get_subcommand(name.substr(0, space));
    CLI::App& options = *parent.add_subcommand(name.substr(space + 1), command.summary);
    if (command.about != nullptr)
      options.footer(std::string("\n") + command.about + "\n\n" + command.examples);
    if (command.add_options == nullptr) options.require_subcommand(1);
    options.preparse_callback([this, &command, &options](std::size_t) { add_options(command, options); });
    commands_.emplace_back(&command, &options);
  }

  void add_options(const Command& command, CLI::App& options) {
    if (command.add_options == nullptr) return;
    chosen_ = command.add_options(options, flags_);
    // Settings name their commands by one word.
    if (options.get_parent() == &app_) add_settings(options, flags_.given);
  }

  config::Flags& flags_;
  CLI::App app_{kAbout, "farport"};
  std::vector<std::pair<const Command*, CLI::App*>> commands_;
  RunCommand chosen_;
};

/// The command that the words begin with, its own commands included; farport itself where they name none.
const CLI::App* command_of(const CLI::App& farport, const std::vector<std::string>& words) {
  const CLI::App* command = &farport;
  for (const std::string& word : words) {
    const auto below = command->get_subcommands({});
    const auto named = std::find_if(below.begin(), below.end(),
                                    [&](const CLI::App* each) { return each->get_name() == word; });
    if (named == below.end()) break;
    command = *named;
  }
  return command;
}

/// What can stand behind it, and its own name, which does.
std::vector<std::string> words_of(const CLI::App& command) {
  std::vector<std::string> all;
  for (const CLI::App* at = &command; at != nullptr; at = at->get_parent()) all.push_back(at->get_name());
  for (const CLI::App* below : command.get_subcommands({})) all.push_back(below->get_name());
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) all.push_back("--" + name);
    for (const std::string& name : option->get_snames()) all.push_back("-" + name);
  }
  return all;
}

std::string full_name(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

[[noreturn]] void fail_usage(const CLI::App& farport, const CLI::ParseError& error,
                             const std::vector<std::string>& words) {
  const CLI::App& command = *command_of(farport, words);
  print_message(error.what());
  print_messages(hints_for(words, words_of(command)));
  print_message("see " + full_name(command) + " --help");
  throw CommandLineDone{kUsage};
}

RunCommand add_help_all_options(CLI::App& options, config::Flags& /*flags*/) {
  const auto format = std::make_shared<std::string>("text");
  add_format(options, *format, "Output format: text or json [text]", {"text", "json"});
  return [format] {
    config::Flags unused;
    Parser parser(unused);
    parser.add_all_options();
    print_help_all(parser.app(), *format);
    return kSuccess;
  };
}

}  // namespace

const Command kHelpAll{"help-all", "Print the help of all commands", kHelpAllAbout, kHelpAllExamples,
                       add_help_all_options};

std::unique_ptr<CommandLine> parse_command_line(int argc, const char* const* argv) {
  auto line = std::make_unique<CommandLine>();
  // Gone when the command runs: an agent would keep it for ever.
  Parser parser(line->flags);
  std::vector<std::string> words = with_help_option({argv + 1, argv + argc});
  const auto misplaced = find_misplaced(words, parser.names());
  if (misplaced) {
    print_message(misplaced->what);
    print_message(misplaced->hint);
    throw CommandLineDone{kUsage};
  }
  const bool is_run = !words.empty() && words.front() == kRun.name;
  const auto separator = std::find(words.begin(), words.end(), "--");
  if (is_run && separator != words.end()) {
    line->flags.tool.assign(separator + 1, words.end());
    words.erase(separator, words.end());
  }
  if (words.empty()) words.emplace_back("--help");
  const std::vector<std::string> as_given = words;
  // CLI11 takes its words from the end of the vector.
  std::reverse(words.begin(), words.end());
  try {
    parser.app().parse(words);
  } catch (const CLI::Success& done) {
    std::ostringstream text;
    parser.app().exit(done, text, text);
    print_help(text.str());
    throw CommandLineDone{kSuccess};
  } catch (const CLI::ParseError& error) {
    fail_usage(parser.app(), error, as_given);
  }
  // The places of flags that might have had a value.
  std::erase_if(line->flags.given, [](const auto& flag) { return flag.second.empty(); });
  line->run = parser.chosen();
  return line;
}

void add_settings(CLI::App& options, config::Given& given) {
  for (const config::Description& setting : config::descriptions()) {
    // A flag of remotes may also stand for all of them.
    if (!setting.is_flag_of(options.get_name()) ||
        options.get_option_no_throw("--" + setting.flag) != nullptr)
      continue;
    CLI::Option* const option = add_setting(options, setting, given);
    if (!setting.is_common()) continue;
    option->group(kCommonOptions);
    options.set_help_all_flag("--help-all", "Print this help message with the common options, and exit");
  }
}

void add_remotes(CLI::App& options, config::Flags& flags) {
  options.add_option("AGENT", flags.remotes, kAgentHelp);
}

void add_target(CLI::App& options, config::Flags& flags) {
  options.add_option("TARGET", flags.target,
                     std::string(kAgentHelp) +
                         "; append /RUNTIME (name, pid or id, also with @HOST) to select one of several");
  CLI::Option* name =
      options.add_option("-n,--name", flags.runtime, "Name of the runtime, if TARGET has several")
          ->type_name("NAME");
  options.add_option("-p,--process-id", flags.runtime, "Pid of the runtime, as shown by farport ps")
      ->type_name("PID")
      ->excludes(name);
  options.add_option("--timeout", flags.timeout, "How long to wait for a runtime that does not answer [30s]")
      ->type_name("TIME");
}

void add_list(CLI::App& options, const std::string& name, std::vector<std::string>& into,
              const std::string& help, const std::string& type) {
  options.add_option(name, into, help)->type_name(type)->allow_extra_args(false);
}

void add_output(CLI::App& options, config::Flags& flags, const char* help) {
  options.add_option("-o,--output", flags.output, help)->type_name("FILE");
  options.add_flag("--force", flags.force, "Replace an existing file");
}

void add_keep(CLI::App& options, config::Flags& flags) {
  options.add_flag(
      "--keep", flags.keep,
      "Have the agent take it and keep it in its directory, and print its id; it goes on if this "
      "command is stopped");
}

void add_duration(CLI::App& options, config::Flags& flags, const char* help) {
  options.add_option("--duration", flags.duration, help)->type_name("TIME");
}

void add_top(CLI::App& options, std::uint32_t& top) {
  options
      .add_flag_function(
          "--top",
          [&top](std::int64_t rows) { top = rows > 1 ? static_cast<std::uint32_t>(rows) : kUsualRows; },
          "Print a table of the methods with the most samples; --top=ROWS [25]")
      ->type_name("ROWS");
}

void add_format(CLI::App& options, std::string& format, const char* help, std::vector<std::string> words) {
  const bool has_json = std::find(words.begin(), words.end(), kJson) != words.end();
  options.add_option("--format", format, help)->type_name("FORMAT")->check(CLI::IsMember(std::move(words)));
  if (!has_json) return;
  const auto choose = [&format] {
    if (!format.empty() && format != kJson) {
      throw CLI::ValidationError("--json", "--format says " + format + ", which contradicts it");
    }
    format = kJson;
  };
  options.add_flag_callback("--json", choose, "Same as --format json")->group(kHidden);
}

void add_json_option(CLI::App& options, bool& json, const char* help) {
  options.add_flag("--json", json, help);
  const auto choose = [&json](const std::string& word) { json = json || word == kJson; };
  options
      .add_option_function<std::string>("--format", choose,
                                        "Output format: text, or json (same as --json) [text]")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"text", kJson}))
      ->group(kHidden);
}

}  // namespace farport::cli
