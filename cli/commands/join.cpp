// farport join: connects by an invitation of farport quickstart.
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include <openssl/crypto.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "auth/credentials.hpp"
#include "auth/invitation.hpp"
#include "base/text.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/setup/own_directory.hpp"
#include "cli/terminal/table.hpp"
#include "cli/terminal/terminal_keys.hpp"
#include "config/resolve.hpp"
#include "config/values.hpp"

namespace farport::cli {
namespace {

/// The pasted text, wiped when it is destroyed. One byte longer than an invitation, to detect a longer text.
struct InvitationInput {
  std::array<char, auth::kLongestInvitation + 1> text{};
  std::size_t size = 0;

  InvitationInput() = default;
  InvitationInput(const InvitationInput&) = delete;
  InvitationInput& operator=(const InvitationInput&) = delete;
  ~InvitationInput() { OPENSSL_cleanse(text.data(), text.size()); }

  /// Reads a line, or to the end of input; calls `wait` before each read. Returns false if a wait was
  /// interrupted.
  template <typename Wait>
  [[nodiscard]] bool read(const Wait& wait) {
    while (size < text.size()) {
      if (!wait()) return false;
      const ssize_t got = ::read(STDIN_FILENO, text.data() + size, text.size() - size);
      if (got <= 0) return true;
      size += static_cast<std::size_t>(got);
      if (std::find(text.data(), text.data() + size, '\n') != text.data() + size) return true;
    }
    return true;
  }
  /// The text without surrounding space.
  [[nodiscard]] std::string_view word() const {
    constexpr std::string_view kSpace = " \t\r\n";
    const std::string_view all(text.data(), size);
    const std::size_t begin = std::min(all.find_first_not_of(kSpace), all.size());
    return all.substr(begin, all.find_first_of(kSpace, begin) - begin);
  }
};

/// While it exists, a signal that would end the program interrupts the wait for input instead, so that the
/// terminal is restored first. Signals are unblocked only during that wait, so that one just before it is not
/// lost.
class SignalsEndWaiting {
 public:
  SignalsEndWaiting() {
    sigset_t ours;
    ::sigemptyset(&ours);
    for (const int signal : kSignals) ::sigaddset(&ours, signal);
    ::pthread_sigmask(SIG_BLOCK, &ours, &mask_before_);
    struct sigaction ending {};
    ending.sa_handler = [](int) {};
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &ending, &before_[i]);
  }
  SignalsEndWaiting(const SignalsEndWaiting&) = delete;
  SignalsEndWaiting& operator=(const SignalsEndWaiting&) = delete;
  ~SignalsEndWaiting() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
    ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  }

  /// Waits for input. Returns false if a signal came.
  [[nodiscard]] bool operator()() const {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    return ::ppoll(&input, 1, nullptr, &mask_before_) >= 0 || errno != EINTR;
  }

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
  std::array<struct sigaction, kSignals.size()> before_{};
  sigset_t mask_before_{};
};

/// Reads the pasted text. Returns false if a signal came.
bool take(InvitationInput& input) {
  if (::isatty(STDIN_FILENO) == 0) return input.read([] { return true; });
  const SignalsEndWaiting interruptible;
  const HidingTerminal hidden;
  print(stderr, "Paste the invitation (it is not shown), and press Enter: ");
  const bool whole = input.read(interruptible);
  print(stderr, "\n");
  return whole;
}

/// Checks an address that a stranger may have written, since it is printed as part of a command to copy.
Result<config::Address> plain_address(const std::string& text) {
  ASSIGN_OR_RETURN(auto address, config::parse_address(text));
  const bool plain = std::all_of(address.host.begin(), address.host.end(), [](char c) {
    return is_letter_or_digit(c) || std::string_view(".-_:%").find(c) != std::string_view::npos;
  });
  if (plain) return address;
  return fail("join", text, "that is not a valid host name",
              "paste the line exactly as farport quickstart printed it");
}

/// Only the invitation decides about credentials and trust, whatever is set for other agents.
void forget_credentials(config::Given& given) {
  std::erase_if(given, [](const auto& each) {
    return each.first.starts_with("tls-") || each.first.starts_with("verify-");
  });
}

/// The path for the key, by the agent's address. It is in a directory that is removed when the user logs out.
Result<std::string> place_for(const config::Address& agent) {
  ASSIGN_OR_RETURN(const auto directory, own_directory());
  std::string name = config::to_string(agent);
  const auto is_odd = [](char c) { return !is_letter_or_digit(c) && c != '.' && c != '-'; };
  std::replace_if(name.begin(), name.end(), is_odd, '_');
  return directory + "/join-" + name + ".pem";
}

void print_joined(const std::string& agent, const std::string& bundle) {
  print(stderr,
        "farport: for farport's other commands in another terminal:\n"
        "  export FARPORT_TLS_BUNDLE={} FARPORT_SERVER_NAME={}\n"
        "  farport ps {}\n",
        bundle, auth::kInvitingAgent, agent);
}

/// `farport join`: reads an invitation from standard input, stores its key in a private directory, and
/// continues as `farport connect`. An address in the flags overrides the invitation's. Returns the exit code.
int join(config::Flags flags) {
  InvitationInput input;
  if (!take(input)) return kInterrupted;
  ASSIGN_OR_REPORT(const auto invitation, auth::read_invitation(input.word()), kUsage);
  const std::string named = flags.remotes.empty() ? invitation.address : flags.remotes.front();
  // Only an address is allowed, since other targets run commands and a stranger may have written the
  // invitation.
  ASSIGN_OR_REPORT(const auto agent, plain_address(named), kUsage);
  ASSIGN_OR_REPORT(const auto bundle, place_for(agent));
  REPORT_IF_ERROR(auth::write_bundle(bundle, invitation.credentials, nullptr, true));
  forget_credentials(flags.given);
  flags.remotes = {config::to_string(agent)};
  flags.given["tls-bundle"] = {bundle};
  flags.given["server-name"] = {auth::kInvitingAgent};
  const auto settings = config::resolve_connect(flags);
  if (!settings) return report(settings.error());
  print_joined(flags.remotes.front(), bundle);
  return connect(*settings);
}

constexpr const char* kJoinAbout =
    "Reads the invitation printed by farport quickstart from standard input; on a terminal it prompts for\n"
    "it without echo. The key is stored in a private directory of yours that is removed when you log out.\n"
    "Then acts like farport connect: remote runtimes look local until Ctrl-C or, with --detach, until\n"
    "farport disconnect.";
constexpr const char* kJoinExamples = R"(Examples:
  farport join                                    (and paste the invitation)
   echo 'farport1,10.0.0.2:9000,…' | farport join --detach
   echo 'farport1,10.0.0.2:9000,…' | farport join localhost:9000      (a port-forward leads there))";

RunCommand add_join_options(CLI::App& options, config::Flags& flags) {
  options.add_option_function<std::string>(
      "AGENT", [&flags](const std::string& agent) { flags.remotes = {agent}; },
      "HOST:PORT to connect to instead of the invitation's, such as that of a port-forward");
  add_json_option(options, flags.json, kJsonLinesHelp);
  options.add_flag("--detach", flags.detach, kDetachHelp);
  return [&flags] { return join(flags); };
}

}  // namespace

const Command kJoin{"join", "Connect, beside the tools, to the agent that a quickstart has started",
                    kJoinAbout, kJoinExamples, add_join_options};

}  // namespace farport::cli
