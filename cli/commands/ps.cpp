// farport ps: lists the runtimes of one or several agents.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <tuple>

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/setup/explain.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/terminal/table.hpp"
#include "config/resolve.hpp"
#include "router/mirror/find_agents.hpp"
#include "router/wire/runtime.hpp"

namespace farport::cli {
namespace {

struct AgentRuntimes {
  std::string address;
  std::vector<router::Runtime> runtimes;
};

struct Listing {
  std::vector<AgentRuntimes> agents;
  std::vector<Error> failures;
  std::vector<std::string> explanations;  ///< Why lists are empty.
};

/// Adds the lists of the agents behind one name, and explanations for empty ones.
transport::Task<void> add_lists(Listing& listing, const router::FoundAgents& found,
                                const router::MirroredAgent& agent) {
  for (const router::FoundAgent& each : found) {
    auto runtimes = router::runtimes_from_json(each.answer);
    if (!runtimes) {
      listing.failures.push_back(runtimes.error());
      continue;
    }
    if (runtimes->empty()) {
      auto lines = co_await explain_search(*each.client, asked_name(agent), Missing::everything);
      std::move(lines.begin(), lines.end(), std::back_inserter(listing.explanations));
    }
    const auto is_left_out = [&agent](const router::Runtime& runtime) {
      return !router::is_selected(agent.select, runtime);
    };
    const bool some = !runtimes->empty();
    std::erase_if(*runtimes, is_left_out);
    if (some && runtimes->empty()) {
      listing.explanations.push_back(each.client->address() + " lists no runtime " + agent.select.front());
    }
    listing.agents.push_back({each.client->address(), std::move(*runtimes)});
  }
}

transport::Task<Listing> list_all(transport::Loop& loop, std::vector<router::MirroredAgent> agents) {
  Listing listing;
  auto all = co_await router::find_all_agents(loop, agents, router::ClientOptions(loop), "/v1/runtimes");
  for (std::size_t i = 0; i < agents.size(); ++i) {
    if (!all[i]) listing.failures.push_back(all[i].error());
    if (all[i]) co_await add_lists(listing, *all[i], agents[i]);
  }
  co_await router::leave_all(loop, std::move(all));
  co_return listing;
}

std::string as_json(const Listing& listing) {
  nlohmann::json all = nlohmann::json::array();
  for (const AgentRuntimes& agent : listing.agents) {
    for (nlohmann::json runtime : nlohmann::json::parse(router::to_json(agent.runtimes))) {
      runtime["agent"] = agent.address;
      all.push_back(std::move(runtime));
    }
  }
  return all.dump(2) + "\n";
}

/// By host, name and pid, whatever the order of the answers.
void sort_runtimes(Listing& listing) {
  const auto by_address = [](const AgentRuntimes& a, const AgentRuntimes& b) {
    return a.address < b.address;
  };
  std::stable_sort(listing.agents.begin(), listing.agents.end(), by_address);
  for (AgentRuntimes& agent : listing.agents) {
    std::sort(agent.runtimes.begin(), agent.runtimes.end(), [](const auto& a, const auto& b) {
      return std::tie(a.name, a.pid, a.id) < std::tie(b.name, b.pid, b.id);
    });
  }
}

/// The runtime's own pid, and the host's pid for it if that differs.
std::string pid_text(const router::Runtime& runtime) {
  const std::string pid = std::to_string(runtime.pid);
  return runtime.host_pid == 0 ? pid : fmt::format("{} ({})", pid, runtime.host_pid);
}

std::string version_of(const router::Runtime& runtime) {
  return runtime.native ? runtime.version + " native" : runtime.version;
}

bool has_containers(const Listing& listing) {
  const auto in_container = [](const router::Runtime& runtime) { return !runtime.container.id.empty(); };
  return std::any_of(listing.agents.begin(), listing.agents.end(), [&](const AgentRuntimes& agent) {
    return std::any_of(agent.runtimes.begin(), agent.runtimes.end(), in_container);
  });
}

std::string as_table(const Listing& listing) {
  // Host and agent are worth a column only if there are several.
  const bool several = listing.agents.size() > 1;
  const bool containers = has_containers(listing);
  std::vector<Column> columns{{"REMOTE PID", 8}, {"NAME", 9, 12}};
  if (several) columns.push_back({"HOST", 7, 14});
  if (containers) columns.push_back({"CONTAINER", 7, 12});
  columns.insert(
      columns.end(),
      {{"AGENT", several ? 6 : 1}, {"VERSION", 2}, {"STATE", 5}, {"SINCE", 0}, {"COMMAND LINE", 4, 20}});
  std::vector<TableRow> rows;
  for (const AgentRuntimes& agent : listing.agents) {
    for (const router::Runtime& runtime : agent.runtimes) {
      TableRow cells{pid_text(runtime), runtime.name};
      if (several) cells.push_back(runtime.host);
      if (containers) cells.push_back(runtime.container.text());
      cells.insert(cells.end(), {agent.address, version_of(runtime), std::string(condition_of(runtime)),
                                 runtime.since, runtime.command_line});
      rows.push_back(std::move(cells));
    }
  }
  return join_lines(table_lines(columns, rows, terminal_size(STDOUT_FILENO).columns));
}

int ps(const config::PsSettings& settings) {
  ASSIGN_OR_REPORT(auto agents, agents_of(settings.remotes), kUsage);
  transport::Loop loop;
  Listing listing = loop.run(list_all(loop, std::move(agents)));
  sort_runtimes(listing);
  for (const Error& failure : listing.failures) report(failure);
  // A table without agents would only repeat that nothing answered; a script still gets its array.
  if (listing.agents.empty() && !settings.json) return kFailure;
  const std::string text = settings.json ? as_json(listing) : as_table(listing);
  std::fputs(text.c_str(), stdout);
  print_messages(listing.explanations);
  return listing.failures.empty() ? kSuccess : kFailure;
}

constexpr const char* kPsAbout = "Lists the .NET runtimes that one or several agents offer you.";
constexpr const char* kPsExamples = R"(Examples:
  farport ps orders.example:9000
  farport ps prod-orders --json)";

RunCommand add_ps_options(CLI::App& options, config::Flags& flags) {
  add_remotes(options, flags);
  add_json_option(options, flags.json, "Print a JSON array");
  return [&flags] { return run_with(config::resolve_ps(flags, kPs.name), ps); };
}

}  // namespace

const Command kPs{"ps", "List remote runtimes", kPsAbout, kPsExamples, add_ps_options};

}  // namespace farport::cli
