// farport quickstart: runs an agent beside an application without any preparation.

#include <cstdio>
#include <memory>
#include <string>
#include <tuple>

#include <fmt/core.h>
#include <sys/socket.h>

#include <CLI/CLI.hpp>

#include "auth/credentials.hpp"
#include "auth/invitation.hpp"
#include "auth/issue.hpp"
#include "base/unique_fd.hpp"
#include "cli/commands/serve.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/setup/own_directory.hpp"
#include "cli/terminal/table.hpp"
#include "config/values.hpp"
#include "transport/socket.hpp"

namespace farport::cli {
namespace {

/// `farport quickstart [HOST] …`
struct QuickstartSettings {
  std::string host;                     ///< Address for others; empty: detected.
  std::string listen = "0.0.0.0:9000";  ///< --listen
  std::string role = "operator";        ///< --role: of the caller that joins.
};

/// Documentation addresses (RFC 5737, RFC 3849), which only a default route leads to. The port does not
/// matter.
constexpr const char* kFarIpv4 = "192.0.2.1";
constexpr const char* kFarIpv6 = "2001:db8::1";
constexpr std::uint16_t kAnyPort = 9;

/// The source address of packets to `far`; empty if there is no route. Connecting a datagram socket assigns
/// the address and sends nothing.
std::string address_towards(const char* far) {
  const auto found = transport::resolve_here(far, kAnyPort);
  if (!found) return {};
  const transport::Address& there = found->front();
  const UniqueFd socket(::socket(there.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), there.get(), there.size) != 0) return {};
  transport::Address own;
  own.size = sizeof own.storage;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own.storage), &own.size) != 0) return {};
  const auto address = config::parse_address(own.text());
  return address ? address->host : "";
}

/// This host's address of the family (AF_INET or AF_INET6) for reaching the rest of the world; sends nothing.
/// The host name if there is no route.
std::string own_address(int family) {
  if (std::string address = address_towards(family == AF_INET6 ? kFarIpv6 : kFarIpv4); !address.empty())
    return address;
  std::string name = own_host_name();
  return name.empty() ? "localhost" : name;
}

/// The credentials of the agent and of its one caller.
struct Sides {
  auth::Credentials agent;
  auth::Credentials guest;
};

Result<auth::Credentials> credentials_from(const auth::Issued& ca, auth::CertificateRequest wanted) {
  ASSIGN_OR_RETURN(const auto request, auth::complete_request(std::move(wanted)));
  ASSIGN_OR_RETURN(auto issued, auth::make_certificate(ca, request));
  auth::Credentials made;
  made.chain.push_back(std::move(issued.certificate));
  made.key = std::move(issued.key);
  made.anchors.emplace_back(X509_dup(ca.certificate.get()));
  return made;
}

/// Issues both certificates from a new CA, whose key is then destroyed, so it can never issue another.
Result<Sides> make_sides(const std::string& agent_name, const std::string& guest_name) {
  ASSIGN_OR_RETURN(const auto ca, auth::make_ca());
  auth::CertificateRequest agent;
  agent.side = auth::Side::server;
  agent.name = agent_name;
  auth::CertificateRequest guest;
  guest.name = guest_name;
  ASSIGN_OR_RETURN(auto agents, credentials_from(ca, std::move(agent)));
  ASSIGN_OR_RETURN(auto guests, credentials_from(ca, std::move(guest)));
  return Sides{std::move(agents), std::move(guests)};
}

/// Common name of the caller that joins.
constexpr const char* kGuest = "quickstart";

config::ServeSettings agent_for(const config::Address& listen, const std::string& role,
                                const std::string& bundle) {
  config::ServeSettings settings;
  settings.listen = {listen};
  settings.tls.bundle = bundle;
  settings.search.push_back(config::temporary_directory());
  settings.search_processes = true;
  settings.policy.grants.push_back(
      config::short_grant(config::GrantKind::cn, std::string(kGuest) + "=" + role));
  return settings;
}

/// The address by which others reach an agent that listens there.
Result<config::Address> reached_at(const std::string& host, const config::Address& listen) {
  if (listen.port == 0) {
    return fail("invite to", config::to_string(listen), "the invitation must name a fixed port",
                "choose one, such as 9000");
  }
  std::string named = host.empty() ? listen.host : host;
  if (named == "0.0.0.0") named = own_address(AF_INET);
  if (named == "::") named = own_address(AF_INET6);
  return config::parse_address(config::to_string({named, listen.port}));
}

void print_invitation(std::string_view text, const config::Address& agent) {
  print(stdout,
        "\n"
        "On your laptop, paste this line. It is a key: whoever has it can connect here until\n"
        "this agent stops. The leading space keeps it out of the history of most shells.\n"
        "farport join alone prompts for the text between the quotes.\n"
        "\n"
        " echo '{0}' | farport join\n"
        "\n"
        "Then dotnet-trace, dotnet-counters and the others work there.\n"
        "If {1} cannot be reached from the laptop, give join an address that can:\n"
        "  … | farport join HOST:PORT\n"
        "\n",
        text, config::to_string(agent));
  std::fflush(stdout);
}

/// Runs an agent with a CA of its own, whose key is destroyed before the agent listens, and prints an
/// invitation for one caller. Nothing is kept. Returns the exit code.
int quickstart(const QuickstartSettings& settings) {
  ASSIGN_OR_REPORT(const auto listen, config::parse_address(settings.listen), kUsage);
  ASSIGN_OR_REPORT(const auto reached, reached_at(settings.host, listen), kUsage);
  ASSIGN_OR_REPORT(const auto sides, make_sides(auth::kInvitingAgent, kGuest));
  ASSIGN_OR_REPORT(const auto invitation, auth::write_invitation(config::to_string(reached), sides.guest),
                   kUsage);
  ASSIGN_OR_REPORT(const auto directory, make_private_directory());
  const std::string bundle = directory->path() + "/agent.pem";
  REPORT_IF_ERROR(auth::write_bundle(bundle, sides.agent, nullptr, false));
  ASSIGN_OR_REPORT(const auto log, make_log("info", "text"));
  AgentProgram program;
  program.fatal = [](const Error& error, int exit_code) { return report(error, exit_code); };
  // The invitation to be copied must not scroll away.
  program.tell_of_others = false;
  program.on_listening = [&] { print_invitation(auth::text_in(invitation.get()), reached); };
  return run_agent(agent_for(listen, settings.role, bundle), log, program);
}

constexpr const char* kQuickstartAbout =
    "Creates certificates for this one run, starts an agent with them, and prints a line to paste on your\n"
    "laptop. It needs no preparation and leaves nothing behind: the CA's key is discarded before anybody\n"
    "can connect, and the certificates are useless once the agent stops. It serves the runtimes of the\n"
    "user who runs it; as root, those of all users. The line is a key: paste it, don't store it. For a\n"
    "permanent agent use farport serve.";
constexpr const char* kQuickstartExamples = R"(Examples:
  farport quickstart
  farport quickstart orders.example --listen 0.0.0.0:9443
  farport quickstart 127.0.0.1 --listen 127.0.0.1:9000      (behind ssh -L or kubectl port-forward)
  farport quickstart --role observer                       (traces and counters, no dumps))";

RunCommand add_quickstart_options(CLI::App& options, config::Flags& flags) {
  std::ignore = flags;
  const auto into = std::make_shared<QuickstartSettings>();
  options.add_option("HOST", into->host, "Name or address under which the laptop reaches this host");
  options.add_option("--listen", into->listen, "Address to listen on [" + into->listen + "]")
      ->type_name("ADDR:PORT");
  options.add_option("--role", into->role, "Role of whoever joins [" + into->role + "]")->type_name("ROLE");
  return [into] { return quickstart(*into); };
}

}  // namespace

const Command kQuickstart{"quickstart",
                          "Start an agent at once, beside the runtimes, and print a line to join it",
                          kQuickstartAbout, kQuickstartExamples, add_quickstart_options};

}  // namespace farport::cli
