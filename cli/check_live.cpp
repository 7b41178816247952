#include "cli/check_live.hpp"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/remotes.hpp"
#include "config/values.hpp"
#include "router/agent/runtimes/discovery.hpp"
#include "router/mirror/ask_agent.hpp"
#include "transport/race.hpp"
#include "transport/socket.hpp"

namespace farport::cli {
namespace {

using auth::Finding;
using Findings = std::vector<Finding>;
using Level = Finding::Level;
using transport::Task;

/// A socket whose process doesn't answer at once is judged after one second.
constexpr transport::Milliseconds kSearch{2000};
constexpr transport::Milliseconds kRescan{300};

Task<void> search(transport::Loop& loop, router::Discovery& discovery) {
  co_await with_deadline(loop, discovery.run(), kSearch);
}

router::DiscoverySettings discovery_settings(const config::ServeSettings& settings) {
  router::DiscoverySettings discovery;
  discovery.search = settings.search;
  discovery.search_processes = settings.search_processes;
  for (const config::NamedSocket& named : settings.runtimes) {
    discovery.named.push_back({named.name, named.path});
  }
  discovery.rescan = kRescan;
  return discovery;
}

/// Those have lines of their own.
bool is_about_directory(const router::DiscoveryProblem& problem) {
  return problem.issue == router::DiscoveryIssue::no_directory ||
         problem.issue == router::DiscoveryIssue::closed_directory;
}

/// "farport 0.1.0; you are CN=alice, with the role operator": what an agent says of itself and the caller.
std::string introduction(const std::string& body) {
  const nlohmann::json answer = nlohmann::json::parse(body, nullptr, false);
  if (!answer.is_object()) return "it is no farport agent";
  const auto text = [](const nlohmann::json& object, const char* name) {
    const auto member = object.find(name);
    return member != object.end() && member->is_string() ? member->get<std::string>() : std::string("?");
  };
  std::string roles;
  const auto grants = answer.find("grants");
  if (grants != answer.end() && grants->is_array()) {
    for (const nlohmann::json& grant : *grants) {
      if (grant.is_object()) roles += (roles.empty() ? "" : ", ") + text(grant, "role");
    }
  }
  return "farport " + text(answer, "version") + "; you are " + text(answer, "identity") +
         " there, with the role " + (roles.empty() ? "?" : roles);
}

void add_search(Findings& findings, const router::AgentAnswer& answer) {
  const auto told = router::explanation_from_json(answer.body);
  if (!told) {
    findings.push_back({Level::warning, told.error().message()});
    return;
  }
  if (!told->searched.empty()) findings.push_back({Level::ok, answer.address + ": " + told->searched});
  for (const std::string& problem : told->problems) {
    findings.push_back({Level::warning, answer.address + ": " + problem});
  }
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
  transport::Loop loop;
  router::Registry registry(loop);
  router::Discovery discovery(loop, registry, make_silent_log(), discovery_settings(settings));
  loop.run(search(loop, discovery));
  for (const router::Runtime& runtime : registry.all([](const router::Runtime&) { return true; })) {
    findings.push_back({Level::ok, "finds " + runtime.name + " (pid " + std::to_string(runtime.pid) +
                                       ", .NET " + runtime.version + ", user " +
                                       std::to_string(runtime.user) + ")"});
  }
  if (findings.empty()) {
    findings.push_back({Level::warning, "finds no runtime as user " + std::to_string(::geteuid())});
  }
  for (const router::DiscoveryProblem& problem : discovery.findings().problems()) {
    if (!is_about_directory(problem)) findings.push_back({Level::warning, problem.message()});
  }
  return findings;
}

Findings try_dialling(const config::RemoteSettings& remote) {
  Findings findings;
  const auto agents = agents_of({remote});
  if (!agents) return findings;  // The files have findings of their own.
  transport::Loop loop;
  for (const router::MirroredAgent& agent : *agents) {
    const auto answers = loop.run(router::ask_agent(loop, agent, "/v1/agent"));
    if (!answers) {
      findings.push_back({Level::problem, answers.error().message()});
      continue;
    }
    for (const router::AgentAnswer& answer : *answers) {
      findings.push_back({Level::ok, answer.address + " answers: " + introduction(answer.body)});
      add_search(findings, answer);
    }
  }
  return findings;
}

}  // namespace farport::cli
