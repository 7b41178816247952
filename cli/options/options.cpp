#include "cli/options/options.hpp"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include <nghttp2/nghttp2ver.h>
#include <openssl/crypto.h>
#include <uv.h>

#include <CLI/CLI.hpp>

#include "base/version.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/help.hpp"
#include "cli/options/help_text.hpp"
#include "cli/terminal/table.hpp"
#include "config/declarations.hpp"
#include "config/values.hpp"

namespace farport::cli {
namespace {

std::string version_text() {
  return "farport " + std::string(kVersion) + " (" + OpenSSL_version(OPENSSL_VERSION) + ", libuv " +
         uv_version_string() + ", nghttp2 " + NGHTTP2_VERSION + ")";
}

/// A flag that may be given several times, each time with one value.
void add_list(CLI::App* command, const std::string& name, std::vector<std::string>& into,
              const std::string& help, const std::string& type) {
  command->add_option(name, into, help)->type_name(type)->allow_extra_args(false);
}

/// What --help says of a setting: also its variable, and its default where there is one.
std::string help_of(const config::Description& setting) {
  const std::string& otherwise = setting.default_text;
  const bool has_default = !otherwise.empty() && otherwise != "none" && otherwise != "false";
  return setting.help + (setting.takes == config::Takes::many ? "; may be repeated [" : " [") +
         setting.variable + (has_default ? "; " + otherwise : "") + "]";
}

void add_setting(CLI::App* command, const config::Description& setting, config::Given& given) {
  const std::string flag = "--" + setting.flag;
  const auto take = [&given, name = setting.flag](const std::string& text) { given[name] = {text}; };
  const auto take_all = [&given, name = setting.flag](const std::vector<std::string>& texts) {
    given[name] = texts;
  };
  switch (setting.takes) {
    case config::Takes::nothing:
      command->add_flag_callback(
          flag, [take] { take(""); }, help_of(setting));
      break;
    case config::Takes::maybe_one:
      // The braces: without a value it is given "". CLI11 calls nothing for that, so it fills the place
      // itself.
      command->add_flag(flag + "{}", given[setting.flag], help_of(setting))->type_name(setting.value);
      break;
    case config::Takes::one:
      command->add_option_function<std::string>(flag, take, help_of(setting))->type_name(setting.value);
      break;
    case config::Takes::many:
      command->add_option_function<std::vector<std::string>>(flag, take_all, help_of(setting))
          ->type_name(setting.value)
          ->allow_extra_args(false);
      break;
  }
}

/// The flags of the settings that a command has.
void add_settings(CLI::App* command, config::Given& given) {
  for (const config::Description& setting : config::descriptions()) {
    // A flag of remotes may also stand for all of them.
    if (setting.is_flag_of(command->get_name()) &&
        command->get_option_no_throw("--" + setting.flag) == nullptr) {
      add_setting(command, setting, given);
    }
  }
}

CLI::Option* add_remotes(CLI::App* command, config::Flags& flags) {
  return command->add_option("AGENT", flags.remotes, kAgentHelp);
}

void add_certs_issue(CLI::App* certs, const std::string& name, const std::string& about,
                     CertsIssueSettings& into) {
  CLI::App* command = certs->add_subcommand(name, about);
  command->add_option("DIR", into.directory, "The directory of ca.crt and ca.key")->required();
  command->add_option("--name", into.name, "Common name, and the name of the files")
      ->required()
      ->type_name("NAME");
  add_list(command, "--dns", into.dns, "A DNS name; may be repeated", "NAME");
  add_list(command, "--ip", into.ips, "An IP address; may be repeated", "ADDRESS");
  add_list(command, "--uri", into.uris, "A URI, such as a SPIFFE ID; may be repeated", "URI");
  command->add_flag("--force", into.force, "Replace files that are there already");
}

/// The commands and what CLI11 has parsed into.
struct Parser {
  Parser() {
    // Before there are commands, which take it over.
    app.formatter(std::make_shared<HelpFormatter>());
    app.footer(std::string("\n") + kExamples);
    app.require_subcommand(1);
    app.set_version_flag("--version", version_text());

    append(add_quickstart_commands(app, line));
    serve = add_command(app, "serve", "The agent, beside the runtimes: offers them over mutual TLS",
                        kServeAbout, kServeExamples);
    add_settings(serve, line.flags.given);
    add_connect();
    disconnect = add_command(app, "disconnect", "Ends detached mirrors, or says which are running",
                             kDisconnectAbout, kDisconnectExamples);
    disconnect->add_option("AGENT", line.flags.remotes, "An agent, as it was named to connect --detach");
    disconnect->add_flag("--all", line.flags.all, "End all of them");

    run = add_command(app, "run", "Runs one tool with a private mirror", kRunAbout, kRunExamples);
    add_remotes(run, line.flags);
    add_settings(run, line.flags.given);

    ps = add_command(app, "ps", "Lists remote runtimes", kPsAbout, kPsExamples);
    add_remotes(ps, line.flags);
    add_json_option(ps, line.flags.json, "Print a JSON array");
    add_settings(ps, line.flags.given);

    add_dump();
    add_recording();
    add_can_i();
    add_certs();
    add_check();
    add_doctor();
    add_stdio();
    help_all =
        add_command(app, "help-all", "Prints the help of all commands", kHelpAllAbout, kHelpAllExamples);
    add_format(help_all, line.help_format, "text or json [text]", {"text", "json"});
  }

  void append(const std::vector<CommandChoice>& commands) {
    for (const auto& [command, choice] : commands) add_settings(command, line.flags.given);
    more.insert(more.end(), commands.begin(), commands.end());
  }

  void add_connect() {
    connect = add_command(app, "connect", "The mirror, beside the tools: makes remote runtimes look local",
                          kConnectAbout, kConnectExamples);
    add_remotes(connect, line.flags);
    add_json_option(connect, line.flags.json, kJsonLinesHelp);
    CLI::Option* detach = connect->add_flag("--detach", line.flags.detach, kDetachHelp);
    add_settings(connect, line.flags.given);
    connect->get_option("--log-file")->needs(detach);
  }

  void add_can_i() {
    can_i =
        add_command(app, "can-i", "Says what our certificate may do, and why not", kCanIAbout, kCanIExamples);
    can_i->add_option_function<std::string>(
        "AGENT", [this](const std::string& agent) { line.flags.remotes = {agent}; }, kAgentHelp);
    can_i->add_option("COMMAND", line.flags.command, "A command of the protocol, such as GenerateCoreDump3");
    can_i->add_flag("--all", line.flags.all, "Answer for each command of the protocol");
    add_json_option(can_i, line.flags.json, "Print a JSON array: a row for each command and runtime");
    add_settings(can_i, line.flags.given);
  }

  void add_check() {
    check = add_command(app, "check", "Says what is right and wrong with a configuration", kCheckAbout,
                        kCheckExamples);
    add_remotes(check, line.flags);
    add_json_option(check, line.flags.json, "Print a JSON array of what was found");
    check->add_option("--as", line.flags.as, "Say what this identity may do with the agent's configuration")
        ->type_name("CN=NAME[,OU=…,DNS=…,URI=…,IP=…,PIN=…] or LOCAL=UID");
    check->add_option("--command", line.flags.command, "With --as: whether it may send this command")
        ->type_name("COMMAND");
    check->add_option("--on", line.flags.runtime_name, "With --command: to a runtime of this name")
        ->type_name("NAME");
    add_settings(check, line.flags.given);
  }

  void add_doctor() {
    doctor = add_command(app, "doctor", "Says what is wrong between here and a runtime, and what to do",
                         kDoctorAbout, kDoctorExamples);
    add_remotes(doctor, line.flags);
    add_json_option(doctor, line.flags.json, "Print a JSON array: an object for each step");
    add_settings(doctor, line.flags.given);
  }

  void add_stdio() {
    stdio = add_command(app, "stdio", "Beside the runtimes: a session over standard input and output",
                        kStdioAbout, kStdioExamples);
    stdio
        ->add_option(
            "--join", line.stdio.join,
            "Join the farport serve that listens on this local socket, instead of an agent of our own")
        ->type_name("PATH");
    stdio->add_flag("--foreground", line.stdio.foreground,
                    "Be that agent of our own, for sessions that are to come, until nobody needs it");
    stdio
        ->add_option(
            "--directory", line.stdio.directory,
            "That agent's directory: made with mode 0700, and removed at its end with the farport in it")
        ->type_name("DIR");
    stdio
        ->add_option_function<std::string>(
            "--linger",
            [this](const std::string& text) {
              const auto linger = config::parse_duration(text);
              if (!linger) throw CLI::ValidationError("--linger", linger.error().message());
              line.stdio.linger = *linger;
            },
            "How long after its last session that agent ends [" + config::to_string(config::kLinger) + "]")
        ->type_name("DURATION");
    stdio
        ->add_option("--user", line.stdio.user,
                     "As root: become this user first, and keep what taking profiles needs")
        ->type_name("USER[:GROUP]");
  }

  void add_dump() {
    dump = add_command(app, "dump", "Takes a dump of a remote runtime, without any .NET tool", kDumpAbout,
                       kDumpExamples);
    add_target(dump, line.flags);
    dump->add_option("-o,--output", line.flags.output,
                     "Where the dump goes; NAME_TIME.dmp where none is given")
        ->type_name("FILE");
    dump->add_option("--type", line.flags.dump_type, "mini, heap, triage or full [heap]")
        ->type_name("TYPE")
        ->check(CLI::IsMember({"mini", "heap", "triage", "full"}));
    dump->add_flag("--force", line.flags.force, "Replace the file if it is there already");
    dump->add_flag("--stay", line.flags.stay,
                   "Leave it where the runtime has written it, and print its path there");
    add_settings(dump, line.flags.given);
  }

  void add_recording() {
    append(add_recording_commands(app, line));
    convert = add_convert(app, line.convert);
  }

  void add_certs() {
    certs = add_command(app, "certs", "Makes a small CA and certificates", kCertsAbout, kCertsExamples);
    certs->require_subcommand(1);
    CLI::App* init = certs->add_subcommand("init", "Makes a CA: DIR/ca.crt and DIR/ca.key");
    init->add_option("DIR", line.certs_init.directory, "A directory; made if it isn't there")->required();
    init->add_flag("--force", line.certs_init.force, "Replace a CA that is there already");
    add_certs_issue(certs, "server", "Issues a certificate for an agent: DIR/NAME.crt and DIR/NAME.key",
                    line.certs_issue);
    add_certs_issue(certs, "client", "Issues a certificate for a mirror: DIR/NAME.crt and DIR/NAME.key",
                    line.certs_issue);
    add_certs_bundle();
  }

  void add_certs_bundle() {
    CertsBundleSettings& into = line.certs_bundle;
    CLI::App* bundle =
        certs->add_subcommand("bundle", "Puts a certificate, its key and the CA into one file: DIR/NAME.pem");
    bundle->add_option("DIR", into.directory, "The directory of ca.crt, NAME.crt and NAME.key")->required();
    bundle->add_option("--name", into.name, "The certificate")->required()->type_name("NAME");
    bundle->add_option("-o,--output", into.output, "Another file than DIR/NAME.pem")->type_name("FILE");
    CLI::Option* encrypt =
        bundle->add_flag("--encrypt", into.encrypt, "Encrypt the key with a passphrase, which is asked for");
    bundle
        ->add_option("--passphrase-file", into.passphrase_file,
                     "Encrypt the key with the first line of this file")
        ->type_name("FILE")
        ->excludes(encrypt);
    bundle->add_flag("--force", into.force, "Replace a file that is there already");
  }

  [[nodiscard]] Command chosen() const {
    if (serve->parsed()) return Command::serve;
    if (connect->parsed()) return Command::connect;
    if (disconnect->parsed()) return Command::disconnect;
    if (run->parsed()) return Command::run;
    if (ps->parsed()) return Command::ps;
    if (dump->parsed()) return Command::dump;
    for (const auto& [command, choice] : more) {
      if (command->parsed()) return choice;
    }
    if (convert->parsed()) return Command::convert;
    if (can_i->parsed()) return Command::can_i;
    if (check->parsed()) return Command::check;
    if (doctor->parsed()) return Command::doctor;
    if (stdio->parsed()) return Command::stdio;
    if (certs->got_subcommand("init")) return Command::certs_init;
    if (certs->got_subcommand("bundle")) return Command::certs_bundle;
    return certs->got_subcommand("server") ? Command::certs_server : Command::certs_client;
  }

  [[nodiscard]] std::vector<std::string> command_names() const {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
    return names;
  }

  /// The words that a misspelt one may have been meant to be.

  CommandLine line;
  CLI::App app{kAbout, "farport"};
  CLI::App* serve = nullptr;
  CLI::App* connect = nullptr;
  CLI::App* disconnect = nullptr;
  CLI::App* run = nullptr;
  CLI::App* ps = nullptr;
  CLI::App* dump = nullptr;
  std::vector<CommandChoice> more;  ///< Made elsewhere.
  CLI::App* convert = nullptr;
  CLI::App* can_i = nullptr;
  CLI::App* certs = nullptr;
  CLI::App* check = nullptr;
  CLI::App* doctor = nullptr;
  CLI::App* stdio = nullptr;
  CLI::App* help_all = nullptr;
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

[[noreturn]] void fail_usage(const Parser& parser, const CLI::ParseError& error,
                             const std::vector<std::string>& words) {
  const CLI::App& command = *command_of(parser.app, words);
  print_message(error.what());
  print_messages(hints_for(words, words_of(command)));
  print_message("see " + full_name(command) + " --help");
  throw CommandLineDone{kUsage};
}

}  // namespace

CommandLine parse_command_line(int argc, const char* const* argv) {
  Parser parser;
  std::vector<std::string> words = with_help_option({argv + 1, argv + argc});
  const auto misplaced = find_misplaced(words, parser.command_names());
  if (misplaced) {
    print_message(misplaced->what);
    print_message(misplaced->hint);
    throw CommandLineDone{kUsage};
  }
  const bool is_run = !words.empty() && words.front() == "run";
  const auto separator = std::find(words.begin(), words.end(), "--");
  if (is_run && separator != words.end()) {
    parser.line.flags.tool.assign(separator + 1, words.end());
    words.erase(separator, words.end());
  }
  if (words.empty()) words.emplace_back("--help");
  const std::vector<std::string> as_given = words;
  // CLI11 takes its words from the end of the vector.
  std::reverse(words.begin(), words.end());
  try {
    parser.app.parse(words);
  } catch (const CLI::Success& done) {
    std::ostringstream text;
    parser.app.exit(done, text, text);
    print_help(text.str());
    throw CommandLineDone{kSuccess};
  } catch (const CLI::ParseError& error) {
    fail_usage(parser, error, as_given);
  }
  if (parser.help_all->parsed()) {
    print_help_all(parser.app, parser.line.help_format);
    throw CommandLineDone{kSuccess};
  }
  // The places of flags that might have had a value.
  std::erase_if(parser.line.flags.given, [](const auto& flag) { return flag.second.empty(); });
  parser.line.command = parser.chosen();
  return std::move(parser.line);
}

}  // namespace farport::cli
