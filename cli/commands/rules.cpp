// farport rules: shows the rules of agents, what they watch, and what they have taken.
#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/output/output.hpp"
#include "cli/setup/explain.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/terminal/table.hpp"
#include "config/resolve.hpp"
#include "router/mirror/find_agents.hpp"
#include "router/wire/rule_report.hpp"

namespace farport::cli {
namespace {

struct AgentRules {
  std::string agent;  ///< Its address.
  std::vector<router::RuleReport> rules;
};

struct RuleListing {
  std::vector<AgentRules> agents;
  std::vector<Error> failures;
  std::vector<std::string> explanations;  ///< Why a rule may have no runtime.
};

/// Returns whether there is a rule without a runtime.
bool add_rules_of(RuleListing& listing, const router::FoundAgent& found) {
  auto rules = router::rules_from_json(found.answer);
  if (!rules) {
    listing.failures.push_back(rules.error());
    return false;
  }
  const bool lacks = std::ranges::any_of(*rules, [](const auto& rule) { return rule.runtimes.empty(); });
  listing.agents.push_back({found.client->address(), std::move(*rules)});
  return lacks;
}

transport::Task<RuleListing> list_rules(transport::Loop& loop, std::vector<router::MirroredAgent> agents) {
  RuleListing listing;
  auto all = co_await router::find_all_agents(loop, agents, router::ClientOptions(loop), "/v1/rules");
  for (std::size_t at = 0; at < agents.size(); ++at) {
    const auto& found = all[at];
    if (!found) listing.failures.push_back(found.error());
    if (!found) continue;
    for (const router::FoundAgent& each : *found) {
      if (!add_rules_of(listing, each)) continue;
      auto lines = co_await explain_search(*each.client, asked_name(agents[at]), Missing::something);
      std::ranges::move(lines, std::back_inserter(listing.explanations));
    }
  }
  co_await router::leave_all(loop, std::move(all));
  co_return listing;
}

std::string rules_as_json(const RuleListing& listing) {
  nlohmann::json all = nlohmann::json::array();
  for (const AgentRules& agent : listing.agents) {
    for (nlohmann::json rule : nlohmann::json::parse(router::to_json(agent.rules))) {
      rule["agent"] = agent.agent;
      all.push_back(std::move(rule));
    }
  }
  return all.dump(2) + "\n";
}

/// "limited until 2026-11-28T10:05:00Z: it has fired once"
std::string state_text(const router::RuleRow& row) {
  std::string text = row.state;
  if (!row.until.empty()) text += " until " + row.until;
  if (!row.why.empty()) text += ": " + row.why;
  return text;
}

std::string last_text(const router::RuleRow& row) {
  if (row.last.empty()) return "";
  std::string text = row.last;
  if (row.outcome == "done") {
    text += fmt::format(": {} taken", row.artifacts.size());
    if (!row.failure.empty()) text += ", but " + row.failure;
  } else {
    text += ": " + (row.outcome == "under_way" ? "under way" : row.failure);
  }
  return text;
}

std::string rules_as_table(const RuleListing& listing) {
  const std::vector<Column> columns{{"RULE", 8, 8}, {"RUNTIME", 7, 10}, {"HOST", 1, 8},  {"VALUE", 4},
                                    {"FIRED", 5},   {"STATE", 9, 24},   {"WHEN", 2, 12}, {"LAST", 3, 12}};
  std::vector<TableRow> rows;
  for (const AgentRules& agent : listing.agents) {
    for (const router::RuleReport& rule : agent.rules) {
      if (rule.runtimes.empty())
        rows.push_back({rule.name, "", "", "", "", "no runtime is of this rule", rule.when, ""});
      for (const router::RuleRow& row : rule.runtimes) {
        rows.push_back({rule.name, fmt::format("{} ({})", row.runtime, row.pid), row.host,
                        row.value ? fmt::format("{:.6g}", *row.value) : "", std::to_string(row.fired),
                        state_text(row), rule.when, last_text(row)});
      }
    }
  }
  return join_lines(table_lines(columns, rows, terminal_size(STDOUT_FILENO).columns));
}

int rules(const config::PsSettings& settings) {
  ASSIGN_OR_REPORT(auto agents, agents_of(settings.remotes), kUsage);
  transport::Loop loop;
  const RuleListing listing = loop.run(list_rules(loop, std::move(agents)));
  for (const Error& failure : listing.failures) report(failure);
  const std::string text = settings.json ? rules_as_json(listing) : rules_as_table(listing);
  if (settings.json || !listing.agents.empty()) std::fputs(text.c_str(), stdout);
  print_messages(listing.explanations);
  return listing.failures.empty() ? kSuccess : kFailure;
}

constexpr const char* kRulesAbout =
    "Shows the rules of agents: what each watches, the value that it saw last, when it may fire, and why it\n"
    "can't. Rules stand in the agents' files, and take dumps, traces and so on though nobody looks. You see\n"
    "the runtimes whose counters you may read; farport artifacts gets what was taken.";
constexpr const char* kRulesExamples = R"(Examples:
  farport rules orders.example:9000
  farport rules k8s://prod/ds/farport --json)";

RunCommand add_rules_options(CLI::App& options, config::Flags& flags) {
  add_remotes(options, flags);
  add_json_option(options, flags.json, "Print a JSON array");
  return [&flags] { return run_with(config::resolve_ps(flags, kRules.name), rules); };
}

}  // namespace

const Command kRules{"rules", "Show what agents take though nobody looks, and whether they can", kRulesAbout,
                     kRulesExamples, add_rules_options};

}  // namespace farport::cli
