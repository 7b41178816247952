#include "cli/check_live.hpp"

#include <unistd.h>

#include "cli/local_search.hpp"
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

}  // namespace

Findings try_listening(const config::ServeSettings& settings) {
  Findings findings;
  transport::Loop loop;
  for (const config::Address& wanted : settings.listen) {
    const auto addresses = transport::resolve_here(wanted.host, wanted.port);
    if (!addresses) findings.push_back({Level::problem, addresses.error().message()});
    if (!addresses) continue;
    for (const transport::Address& address : *addresses) {
      const auto listener = transport::Listener::tcp(loop, address, settings.reuse_port);
      findings.push_back(listener ? Finding{Level::ok, "listens on " + address.text()}
                                  : Finding{Level::problem, listener.error().message()});
    }
  }
  return findings;
}

Findings try_searching(const config::ServeSettings& settings) {
  Findings findings;
  LocalSearch search(settings);
  search.loop().run(search.run());
  for (const router::Runtime& runtime : search.registry().all([](const router::Runtime&) { return true; })) {
    findings.push_back({Level::ok, "finds " + runtime.name + " (pid " + std::to_string(runtime.pid) +
                                       ", .NET " + runtime.version + ", user " +
                                       std::to_string(runtime.user) + ")"});
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
