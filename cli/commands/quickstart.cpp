// farport quickstart: beside an application, an agent that nothing has been prepared for.
#include "cli/commands/quickstart.hpp"

#include <cstdio>

#include <fmt/core.h>
#include <sys/socket.h>

#include "auth/invitation.hpp"
#include "auth/new_file.hpp"
#include "cli/commands/agent_program.hpp"
#include "cli/options/commands.hpp"
#include "cli/commands/own_address.hpp"
#include "cli/setup/private_directory.hpp"
#include "cli/commands/quickstart_certificates.hpp"
#include "cli/terminal/text.hpp"
#include "config/values.hpp"

namespace farport::cli {
namespace {

/// The common name of the one that joins.
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

/// Where others reach an agent that listens there.
Result<config::Address> reached_at(const std::string& host, const config::Address& listen) {
  if (listen.port == 0) {
    return fail("invite to", config::to_string(listen), "the port must be known before",
                "name one, such as 9000");
  }
  std::string named = host.empty() ? listen.host : host;
  if (named == "0.0.0.0") named = own_address(AF_INET);
  if (named == "::") named = own_address(AF_INET6);
  return config::parse_address(config::to_string({named, listen.port}));
}

void print_invitation(std::string_view text, const config::Address& agent) {
  print(stdout,
        "\nOn your laptop, paste this line. It is a key: anybody who has it gets in here, until\n"
        "this agent ends. The space before it keeps it out of the history of most shells."
        "\nfarport join alone asks for what is between the quotes.\n\n"
        " echo '{0}' | farport join\n\n"
        "Then dotnet-trace, dotnet-counters and the others work there.\n"
        "If {1} cannot be reached from there, give join the address that can:\n"
        "  … | farport join HOST:PORT\n\n",
        text, config::to_string(agent));
  std::fflush(stdout);
}

}  // namespace

int quickstart(const QuickstartSettings& settings) {
  const auto listen = config::parse_address(settings.listen);
  if (!listen) return report(listen.error(), kUsage);
  const auto reached = reached_at(settings.host, *listen);
  if (!reached) return report(reached.error(), kUsage);
  const auto sides = make_sides(kQuickstartName, kGuest);
  if (!sides) return report(sides.error());
  const auto invitation = auth::write_invitation(config::to_string(*reached), sides->guest);
  if (!invitation) return report(invitation.error(), kUsage);
  const auto directory = make_private_directory();
  if (!directory) return report(directory.error());
  const std::string bundle = (*directory)->path() + "/agent.pem";
  if (auto kept = auth::write_bundle(bundle, sides->agent, nullptr, false); !kept)
    return report(kept.error());
  const auto log = make_log("info", "text");
  if (!log) return report(log.error());
  AgentProgram program;
  program.fatal = [](const Error& error, int exit_code) { return report(error, exit_code); };
  // What is to be pasted stays in sight.
  program.tell_of_others = false;
  program.on_listening = [&] { print_invitation(auth::text_in(invitation->get()), *reached); };
  return run_agent(agent_for(*listen, settings.role, bundle), *log, program);
}

}  // namespace farport::cli
