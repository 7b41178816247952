#include "cli/commands/check_live.hpp"

#include <unistd.h>

#include "cli/setup/local_search.hpp"
#include "transport/socket.hpp"

namespace farport::cli {
namespace {

using Findings = std::vector<Finding>;
using Level = Finding::Level;

/// Those have lines of their own.
bool is_about_directory(const router::DiscoveryProblem& problem) {
  return problem.issue == router::DiscoveryIssue::no_directory ||
         problem.issue == router::DiscoveryIssue::closed_directory;
}

/// What is said of the address for health and metrics.
Finding about_admin(const transport::Address& address) {
  const std::string answers = "answers health and metrics without TLS on " + address.text();
  if (address.is_loopback()) return {Level::ok, answers};
  return {Level::warning,
          answers + ", which is not a loopback address: anybody who reaches it may read them"};
}

/// Listens on what an address stands for, and adds what `about` says of it, or why that can't be.
template <typename About>
void try_address(transport::Loop& loop, Findings& findings, const config::Address& wanted, bool share,
                 About about) {
  const auto addresses = transport::resolve_here(wanted.host, wanted.port);
  if (!addresses) return findings.push_back({Level::problem, addresses.error().message()});
  for (const transport::Address& address : *addresses) {
    const auto listener = transport::Listener::tcp(loop, address, share);
    findings.push_back(listener ? about(address) : Finding{Level::problem, listener.error().message()});
  }
}

}  // namespace

Findings try_listening(const config::ServeSettings& settings) {
  Findings findings;
  transport::Loop loop;
  for (const config::Address& wanted : settings.listen) {
    try_address(loop, findings, wanted, settings.reuse_port, [](const transport::Address& address) {
      return Finding{Level::ok, "listens on " + address.text()};
    });
  }
  if (settings.admin) try_address(loop, findings, *settings.admin, settings.reuse_port, about_admin);
  return findings;
}

Findings try_searching(const config::ServeSettings& settings) {
  Findings findings;
  LocalSearch search(settings);
  search.loop().run(search.run());
  for (const router::RuntimePtr& runtime :
       search.registry().all([](const router::Runtime&) { return true; })) {
    findings.push_back({Level::ok, "finds " + runtime->name + " (pid " + std::to_string(runtime->pid) +
                                       ", .NET " + runtime->version + ", user " +
                                       std::to_string(runtime->user) + ")"});
  }
  if (findings.empty()) {
    findings.push_back({Level::warning, "finds no runtime as user " + std::to_string(::geteuid())});
  }
  for (const router::DiscoveryProblem& problem : search.discovery().findings().problems()) {
    if (!is_about_directory(problem)) findings.push_back({Level::warning, problem.message()});
  }
  return findings;
}

}  // namespace farport::cli
