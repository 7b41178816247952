#include "cli/options.hpp"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include <nghttp2/nghttp2ver.h>
#include <openssl/crypto.h>
#include <unistd.h>
#include <uv.h>

#include <CLI/CLI.hpp>

#include "base/version.hpp"
#include "cli/commands.hpp"
#include "cli/help.hpp"
#include "cli/text.hpp"
#include "cli/usage.hpp"
#include "config/values.hpp"

namespace farport::cli {
namespace {

std::string version_text() {
  return "farport " + std::string(kVersion) + " (" + OpenSSL_version(OPENSSL_VERSION) + ", libuv " +
         uv_version_string() + ", nghttp2 " + NGHTTP2_VERSION + ")";
}

/// As CLI11's own, but for the value that a flag has where it is given none: that is for the parser only.
class HelpText : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, is_positional);
    const std::size_t default_value = name.find("{}");
    return default_value == std::string::npos ? name : name.erase(default_value, 2);
  }
};

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

/// `summary` is a line for the list of commands; `about` and `examples` are for the command's own help.
CLI::App* add_command(CLI::App& app, const std::string& name, const char* summary, const char* about,
                      const char* examples) {
  CLI::App* command = app.add_subcommand(name, summary);
  command->footer(std::string("\n") + about + "\n\n" + examples);
  return command;
}

/// A flag that may be given several times, each time with one value.
void add_list(CLI::App* command, const std::string& name, std::vector<std::string>& into,
              const std::string& help, const std::string& type) {
  command->add_option(name, into, help)->type_name(type)->allow_extra_args(false);
}

void add_value(CLI::App* command, const std::string& name, std::optional<std::string>& into,
               const std::string& help, const std::string& type) {
  command->add_option(name, into, help)->type_name(type);
}

void add_common(CLI::App* command, config::Flags& flags) {
  add_value(command, "--config", flags.config, "Configuration file (TOML) [FARPORT_CONFIG]", "FILE");
  add_value(command, "--tls-cert", flags.tls_cert, "Our certificate, PEM [FARPORT_TLS_CERT]", "FILE");
  add_value(command, "--tls-key", flags.tls_key, "Its private key, PEM [FARPORT_TLS_KEY]", "FILE");
  add_value(command, "--tls-ca", flags.tls_ca, "The CA of the other side's certificate, PEM [FARPORT_TLS_CA]",
            "FILE");
  add_value(command, "--tls-crl", flags.tls_crl,
            "Revoked certificates of the other side, a CRL of each CA, PEM [FARPORT_TLS_CRL]", "FILE");
  add_value(command, "--log-level", flags.log_level,
            "trace, debug, info, warn, error or off [FARPORT_LOG_LEVEL]", "LEVEL");
  add_value(command, "--log-format", flags.log_format, "text or json [FARPORT_LOG_FORMAT]", "FORMAT");
}

void add_agent_flags(CLI::App* command, config::Flags& flags) {
  add_value(command, "--host-name", flags.host_name,
            "What this host is called, so that NAME@HOST chooses a runtime [FARPORT_HOST_NAME; hostname]",
            "NAME");
  add_list(command, "--listen", flags.listen, "Address to listen on; may be repeated [FARPORT_LISTEN]",
           "ADDR:PORT");
  command->add_flag(
      "--reuse-port", flags.reuse_port,
      "Let another agent that does so too listen there, to hand over to it [FARPORT_REUSE_PORT]");
  add_list(command, "--search", flags.search,
           "Directory with diagnostic sockets; may be repeated [FARPORT_SEARCH; $TMPDIR, else /tmp]", "DIR");
  add_list(command, "--runtime", flags.runtime,
           "A runtime's diagnostic socket at a path of its own; may be repeated [FARPORT_RUNTIME]",
           "NAME=PATH");
  add_list(command, "--diagnostic-port", flags.diagnostic_port,
           "Make a socket for runtimes to dial (DOTNET_DiagnosticPorts); may be repeated "
           "[FARPORT_DIAGNOSTIC_PORT]",
           "PATH");
  add_value(command, "--resume-after", flags.resume_after,
            "Let a suspended runtime run when nobody has come for it in that time, such as 30s "
            "[FARPORT_RESUME_AFTER]",
            "DURATION");
  add_value(command, "--drain", flags.drain,
            "How long what runs may go on once the agent is to stop [FARPORT_DRAIN; 10s]", "DURATION");
  add_list(command, "--allow-cn", flags.allow_cn,
           "Give certificates with this common name a role (observer, operator, admin, or one of the "
           "configuration's; default observer); may be repeated [FARPORT_ALLOW_CN]",
           "NAME[=ROLE]");
  add_list(command, "--allow-dns", flags.allow_dns, "… with this DNS name [FARPORT_ALLOW_DNS]",
           "NAME[=ROLE]");
  add_list(command, "--allow-uri", flags.allow_uri,
           "… with a URI that matches (SPIFFE; * is one path segment, ** the rest) [FARPORT_ALLOW_URI]",
           "PATTERN[=ROLE]");
  add_list(command, "--allow-ip", flags.allow_ip,
           "… with this IP address among its alternative names [FARPORT_ALLOW_IP]", "ADDRESS[=ROLE]");
  command->add_flag("--allow-all{}", flags.allow_all,
                    "… every certificate of the CA: --allow-all or --allow-all=ROLE [FARPORT_ALLOW_ALL]");
  add_value(command, "--audit", flags.audit,
            "Where the audit log goes: stderr, syslog, off, or a file [FARPORT_AUDIT; stderr]", "WHERE");
  add_list(command, "--limit", flags.limit,
           "One of the configuration's [limits], such as sessions_per_identity=10; may be repeated "
           "[FARPORT_LIMIT]",
           "NAME=VALUE");
  add_value(command, "--dump-directory", flags.dump_directory,
            "Directory for dumps that runtimes can write to [FARPORT_DUMP_DIRECTORY; found out]", "DIR");
  add_value(command, "--dump-runtime-directory", flags.dump_runtime_directory,
            "Where runtimes see that directory, if elsewhere [FARPORT_DUMP_RUNTIME_DIRECTORY]", "DIR");
  add_value(command, "--user", flags.user,
            "As root: become this user before anything is opened but ports [FARPORT_USER]", "NAME[:GROUP]");
  add_value(command, "--confine", flags.confine,
            "Give up what isn't needed: auto (what is possible), required (or don't start), off "
            "[FARPORT_CONFINE; auto]",
            "MODE");
  add_value(
      command, "--insecure-loopback", flags.insecure_loopback,
      "Listen without TLS on a loopback address, for every process of this host [FARPORT_INSECURE_LOOPBACK]",
      "ADDR:PORT[=ROLE]");
}

/// How the agent is verified.
void add_server_name(CLI::App* command, config::Flags& flags) {
  add_value(command, "--server-name", flags.server_name,
            "Name that the agent's certificate must hold, if not the one dialled [FARPORT_SERVER_NAME]",
            "NAME");
  add_list(
      command, "--verify-cn", flags.verify_cn,
      "Common name that the agent's certificate must have, too; several: one of them [FARPORT_VERIFY_CN]",
      "NAME");
  add_list(command, "--verify-uri", flags.verify_uri,
           "… URI (SPIFFE; * is one path segment, ** the rest) [FARPORT_VERIFY_URI]", "PATTERN");
  add_list(command, "--verify-pin", flags.verify_pin,
           "… public key, as farport check prints its pin [FARPORT_VERIFY_PIN]", "PIN");
}

void add_session_flags(CLI::App* command, config::Flags& flags) {
  add_value(command, "--grace", flags.grace,
            "How long diagnostic connections wait for a broken session to come back [FARPORT_GRACE; 30s]",
            "DURATION");
  add_value(command, "--ping-interval", flags.ping_interval,
            "How often to ask whether the other side is there [FARPORT_PING_INTERVAL; 5s]", "DURATION");
  add_value(command, "--ping-timeout", flags.ping_timeout,
            "How long it may be silent then, before the session is broken [FARPORT_PING_TIMEOUT; 5s]",
            "DURATION");
  add_value(
      command, "--compression", flags.compression,
      "Compress traces and dumps: auto (traces while the network is what they wait for), always or never "
      "[FARPORT_COMPRESSION; auto]",
      "WAY");
}

CLI::Option* add_remotes(CLI::App* command, config::Flags& flags) {
  add_server_name(command, flags);
  return command->add_option("AGENT", flags.remotes,
                             "HOST:PORT of an agent, or a profile of the configuration file");
}

void add_mirror_flags(CLI::App* command, config::Flags& flags) {
  add_value(command, "--socket-dir", flags.socket_dir,
            "Where to make the sockets [FARPORT_SOCKET_DIR; $TMPDIR, else /tmp, where tools look]", "DIR");
  add_list(command, "--socket", flags.socket,
           "Also offer a runtime at this path; may be repeated [FARPORT_SOCKET]", "NAME=PATH");
  add_list(command, "--to", flags.to,
           "Dial a tool that listens on this socket, as every mirrored runtime (or that of the name); may be "
           "repeated [FARPORT_TO]",
           "[NAME=]PATH");
  add_list(command, "--select", flags.select,
           "Mirror only these: name, pid, id or glob; may be repeated [FARPORT_SELECT]", "PATTERN");
}

void add_detach(CLI::App* command, config::Flags& flags) {
  CLI::Option* detach = command->add_flag(
      "--detach", flags.detach,
      "Return once the runtimes are listed, and go on without a terminal until farport disconnect");
  command
      ->add_option("--log-file", flags.log_file,
                   "Where it logs then; in a file of its own where none is given [FARPORT_LOG_FILE]")
      ->type_name("FILE")
      ->needs(detach);
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
    app.formatter(std::make_shared<HelpText>());
    app.footer(std::string("\n") + kExamples);
    app.require_subcommand(1);
    app.set_version_flag("--version", version_text());

    serve = add_command(app, "serve", "The agent, beside the runtimes: offers them over mutual TLS",
                        kServeAbout, kServeExamples);
    add_agent_flags(serve, line.flags);
    add_session_flags(serve, line.flags);
    add_common(serve, line.flags);

    connect = add_command(app, "connect", "The mirror, beside the tools: makes remote runtimes look local",
                          kConnectAbout, kConnectExamples);
    add_remotes(connect, line.flags)->required();
    add_mirror_flags(connect, line.flags);
    connect->add_flag("--json", line.flags.json, "Print each change as a line of JSON");
    add_detach(connect, line.flags);
    add_session_flags(connect, line.flags);
    add_common(connect, line.flags);

    disconnect = add_command(app, "disconnect", "Ends detached mirrors, or says which are running",
                             kDisconnectAbout, kDisconnectExamples);
    disconnect->add_option("AGENT", line.flags.remotes, "An agent, as it was named to connect --detach");
    disconnect->add_flag("--all", line.flags.all, "End all of them");

    run = add_command(app, "run", "Runs one tool with a private mirror", kRunAbout, kRunExamples);
    add_remotes(run, line.flags);
    add_list(run, "--select", line.flags.select, "Mirror only these: name, pid, id or glob; may be repeated",
             "PATTERN");
    add_session_flags(run, line.flags);
    add_common(run, line.flags);

    ps = add_command(app, "ps", "Lists remote runtimes", kPsAbout, kPsExamples);
    add_remotes(ps, line.flags)->required();
    ps->add_flag("--json", line.flags.json, "Print a JSON array");
    add_common(ps, line.flags);

    add_dump();
    can_i =
        add_command(app, "can-i", "Says what our certificate may do, and why not", kCanIAbout, kCanIExamples);
    can_i
        ->add_option_function<std::string>(
            "AGENT", [this](const std::string& agent) { line.flags.remotes = {agent}; },
            "HOST:PORT of an agent, or a profile of the configuration file")
        ->required();
    can_i->add_option("COMMAND", line.flags.command, "A command of the protocol, such as GenerateCoreDump3");
    can_i->add_flag("--all", line.flags.all, "Answer for each command of the protocol");
    can_i->add_flag("--json", line.flags.json, "Print a JSON array: a row for each command and runtime");
    add_server_name(can_i, line.flags);
    add_common(can_i, line.flags);

    add_certs();

    check = add_command(app, "check", "Says what is right and wrong with a configuration", kCheckAbout,
                        kCheckExamples);
    add_remotes(check, line.flags);
    check->add_flag("--json", line.flags.json, "Print a JSON array of what was found");
    add_value(check, "--as", line.flags.as, "Say what this identity may do with the agent's configuration",
              "CN=NAME[,OU=…,DNS=…,URI=…,IP=…,PIN=…]");
    check->add_option("--command", line.flags.command, "… and whether it may send this command")
        ->type_name("COMMAND");
    add_value(check, "--on", line.flags.runtime_name, "… to a runtime of this name", "NAME");
    add_agent_flags(check, line.flags);
    add_mirror_flags(check, line.flags);
    add_session_flags(check, line.flags);
    add_common(check, line.flags);
  }

  void add_dump() {
    dump = add_command(app, "dump", "Takes a dump of a remote runtime, without any .NET tool", kDumpAbout,
                       kDumpExamples);
    dump->add_option("TARGET", line.flags.dump_target,
                     "AGENT or AGENT/RUNTIME: a name, pid or id, also with @HOST behind it")
        ->required();
    dump->add_option("-o,--output", line.flags.output,
                     "Where the dump goes; NAME_TIME.dmp where none is given")
        ->type_name("FILE");
    dump->add_option("--type", line.flags.dump_type, "mini, heap, triage or full [heap]")
        ->type_name("TYPE")
        ->check(CLI::IsMember({"mini", "heap", "triage", "full"}));
    dump->add_flag("--force", line.flags.force, "Replace the file if it is there already");
    dump->add_flag("--stay", line.flags.stay,
                   "Leave it where the runtime has written it, and print its path there");
    add_server_name(dump, line.flags);
    add_session_flags(dump, line.flags);
    add_common(dump, line.flags);
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
  }

  [[nodiscard]] Command chosen() const {
    if (serve->parsed()) return Command::serve;
    if (connect->parsed()) return Command::connect;
    if (disconnect->parsed()) return Command::disconnect;
    if (run->parsed()) return Command::run;
    if (ps->parsed()) return Command::ps;
    if (dump->parsed()) return Command::dump;
    if (can_i->parsed()) return Command::can_i;
    if (check->parsed()) return Command::check;
    if (certs->got_subcommand("init")) return Command::certs_init;
    return certs->got_subcommand("server") ? Command::certs_server : Command::certs_client;
  }

  [[nodiscard]] std::vector<std::string> command_names() const {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
    return names;
  }

  /// The words that a misspelt one may have been meant to be.
  [[nodiscard]] std::vector<std::string> words() const {
    std::vector<std::string> all;
    const auto add = [&](const CLI::App* command) {
      all.push_back(command->get_name());
      for (const CLI::Option* option : command->get_options()) {
        for (const std::string& name : option->get_lnames()) all.push_back("--" + name);
      }
    };
    for (const CLI::App* command : app.get_subcommands({})) add(command);
    return all;
  }

  CommandLine line;
  CLI::App app{kAbout, "farport"};
  CLI::App* serve = nullptr;
  CLI::App* connect = nullptr;
  CLI::App* disconnect = nullptr;
  CLI::App* run = nullptr;
  CLI::App* ps = nullptr;
  CLI::App* dump = nullptr;
  CLI::App* can_i = nullptr;
  CLI::App* certs = nullptr;
  CLI::App* check = nullptr;
};

[[noreturn]] void fail_usage(const Parser& parser, const CLI::ParseError& error,
                             const std::vector<std::string>& words) {
  print_message(error.what());
  const std::vector<std::string> known = parser.words();
  for (const std::string& word : words) {
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    // What is neither an option nor in the command's place is a value.
    if (!word.starts_with("-") && &word != &words.front()) continue;
    const std::string meant = config::nearest(word.substr(0, word.find('=')), known);
    if (!meant.empty() && (word.starts_with("-") == meant.starts_with("-"))) {
      print_message(fmt::format("did you mean \"{}\" for \"{}\"?", meant, word));
    }
  }
  std::fputs("farport: see farport --help\n", stderr);
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
    std::fputs(fitted_help(text.str(), terminal_size(STDOUT_FILENO).columns).c_str(), stdout);
    throw CommandLineDone{kSuccess};
  } catch (const CLI::ParseError& error) {
    fail_usage(parser, error, as_given);
  }
  parser.line.command = parser.chosen();
  return std::move(parser.line);
}

}  // namespace farport::cli
