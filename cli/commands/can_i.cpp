#include "cli/commands/can_i.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "auth/rules.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/help_text.hpp"
#include "cli/options/options.hpp"
#include "cli/setup/explain.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/terminal/table.hpp"
#include "config/resolve.hpp"
#include "router/mirror/find_agents.hpp"
#include "router/wire/runtime.hpp"

namespace farport::cli {
namespace {

using router::AccessRow;
using transport::Task;

/// A table row for one command, for one runtime or for all that have the same answer.
TableRow table_row(const AccessRow& row, const std::string& runtime) {
  return {row.command, runtime, row.allowed ? "yes" : "no",
          row.allowed ? row.role + " (" + row.rule + ")" : row.why};
}

bool same_answer(const AccessRow& a, const AccessRow& b) {
  return a.allowed == b.allowed && a.rule == b.rule && a.role == b.role && a.why == b.why;
}

/// Adds the consecutive rows of one command: a single line if all have the same answer.
void add_command_rows(std::vector<TableRow>& table, const AccessRow* first, const AccessRow* last) {
  const bool alike = std::all_of(first, last, [&](const AccessRow& row) { return same_answer(row, *first); });
  if (alike) {
    table.push_back(table_row(*first, last - first > 1 ? "every one" : first->runtime));
    return;
  }
  for (const AccessRow* row = first; row != last; ++row) {
    table.push_back(table_row(*row, row->runtime + " (pid " + std::to_string(row->pid) + ")"));
  }
}

std::string as_table(const std::vector<AccessRow>& rows, const std::string& heading) {
  std::vector<TableRow> table{{heading, "RUNTIME", "ALLOWED", "BY, OR WHY NOT"}};
  const AccessRow* const end = rows.data() + rows.size();
  for (const AccessRow* first = rows.data(); first != end;) {
    const AccessRow* const last =
        std::find_if(first, end, [&](const AccessRow& row) { return row.command != first->command; });
    add_command_rows(table, first, last);
    first = last;
  }
  return format_table(table, terminal_size(STDOUT_FILENO).columns);
}

/// The agents' answers in printable form.
struct Answers {
  std::string tables;
  nlohmann::json rows = nlohmann::json::array();
  std::vector<Error> failures;
  std::vector<std::string> explanations;  ///< Why agents list no runtime.
  bool all_allowed = true;
};

/// Adds the agent's rows, each with the agent's address.
void add_json(nlohmann::json& all, const router::FoundAgent& found) {
  for (nlohmann::json row : nlohmann::json::parse(found.answer)) {
    row["agent"] = found.client->address();
    all.push_back(std::move(row));
  }
}

Task<void> add_answer(Answers& answers, const router::FoundAgent& found, std::string name,
                      const config::CanISettings& settings) {
  const auto rows = router::access_from_json(found.answer);
  if (!rows) {
    answers.failures.push_back(rows.error());
    co_return;
  }
  if (settings.json) {
    add_json(answers.rows, found);
  } else {
    const bool as_commands = settings.all || !settings.command.empty();
    answers.tables += as_commands ? as_table(*rows, "COMMAND") : as_table(abilities_of(*rows), "MAY I");
  }
  const auto allowed = [](const AccessRow& row) { return row.allowed; };
  answers.all_allowed = answers.all_allowed && std::all_of(rows->begin(), rows->end(), allowed);
  const auto of_none = [](const AccessRow& row) { return row.runtime.empty(); };
  if (!std::all_of(rows->begin(), rows->end(), of_none)) co_return;
  auto lines = co_await explain_search(*found.client, std::move(name), Missing::everything);
  std::move(lines.begin(), lines.end(), std::back_inserter(answers.explanations));
}

Task<Answers> ask(transport::Loop& loop, std::vector<router::MirroredAgent> agents,
                  const config::CanISettings& settings) {
  const std::string path =
      "/v1/access" + (settings.command.empty() ? std::string() : "?command=" + settings.command);
  auto all = co_await router::find_all_agents(loop, agents, router::ClientOptions(loop), path);
  Answers answers;
  for (std::size_t i = 0; i < agents.size(); ++i) {
    if (!all[i]) answers.failures.push_back(all[i].error());
    for (std::size_t j = 0; all[i] && j < all[i]->size(); ++j) {
      co_await add_answer(answers, (*all[i])[j], asked_name(agents[i]), settings);
    }
  }
  co_await router::leave_all(loop, std::move(all));
  co_return answers;
}

int can_i(const config::CanISettings& settings) {
  if (!settings.command.empty()) {
    REPORT_IF_ERROR(check_command_name(settings.command), kUsage);
  }
  ASSIGN_OR_REPORT(const auto agents, agents_of(settings.remotes), kUsage);
  transport::Loop loop;
  const Answers answers = loop.run(ask(loop, agents, settings));
  std::fputs((settings.json ? answers.rows.dump(2) + "\n" : answers.tables).c_str(), stdout);
  for (const Error& failure : answers.failures) report(failure);
  print_messages(answers.explanations);
  const bool allowed = answers.all_allowed || settings.command.empty();
  return answers.failures.empty() && allowed ? kSuccess : kFailure;
}

constexpr const char* kCanIAbout =
    "Asks an agent what your certificate may do there (trace, dump, ...): on which runtimes and by which\n"
    "grant, or which role is missing. With a protocol COMMAND the exit code is 0 if it is allowed, else\n"
    "1.";
constexpr const char* kCanIExamples = R"(Examples:
  farport can-i orders.example:9000
  farport can-i prod-orders --all            (each command of the protocol)
  farport can-i prod-orders GenerateCoreDump3)";

RunCommand add_can_i_options(CLI::App& options, config::Flags& flags) {
  options.add_option_function<std::string>(
      "AGENT", [&flags](const std::string& agent) { flags.remotes = {agent}; }, kAgentHelp);
  options.add_option("COMMAND", flags.command, "Protocol command to ask about, such as GenerateCoreDump3");
  options.add_flag("--all", flags.all, "Answer for every protocol command");
  add_json_option(options, flags.json, "Print a JSON array with an object for each command and runtime");
  return [&flags] { return run_with(config::resolve_can_i(flags), can_i); };
}

}  // namespace

const Command kCanI{"can-i", "Show what your certificate may do at an agent, and why not", kCanIAbout,
                    kCanIExamples, add_can_i_options};

namespace {

struct Ability {
  std::string_view name;
  std::vector<std::string_view> commands;
};

const std::vector<Ability>& abilities() {
  static const std::vector<std::string_view> session{"CollectTracing2", "CollectTracing4", "StopTracing",
                                                     "ResumeRuntime"};
  static const std::vector<Ability> all{
      {"trace (dotnet-trace)", session},
      {"count (dotnet-counters)", session},
      {"see stacks (dotnet-stack)", session},
      {"see the heap (dotnet-gcdump)", session},
      {"see what happened before (farport recent)", {"CollectTracing2"}},
      {"profile the processor (farport profile)", {auth::kProfile}},
      {"see the kernel in that", {auth::kProfileKernel}},
      {"dump (dotnet-dump, farport dump)", {"GenerateCoreDump3"}},
      {"have the agent keep that (--keep)", {auth::kKeepArtifacts}},
      {"remove anything that it keeps", {auth::kRemoveArtifacts}},
      {"read the environment", {"ProcessEnvironment"}},
      {"change it (variables, hooks, profilers)",
       {"SetEnvironmentVariable", "ApplyStartupHook", "AttachProfiler", "StartupProfiler"}},
  };
  return all;
}

bool same_runtime(const AccessRow& a, const AccessRow& b) {
  return a.runtime == b.runtime && a.pid == b.pid;
}

}  // namespace

std::vector<AccessRow> abilities_of(const std::vector<AccessRow>& commands) {
  std::vector<AccessRow> rows;
  for (const Ability& ability : abilities()) {
    const auto first_row = rows.size();
    for (const AccessRow& command : commands) {
      if (std::find(ability.commands.begin(), ability.commands.end(), command.command) ==
          ability.commands.end()) {
        continue;
      }
      const auto known = std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(first_row), rows.end(),
                                      [&](const AccessRow& row) { return same_runtime(row, command); });
      if (known == rows.end()) {
        rows.push_back(command);
        rows.back().command = ability.name;
      } else if (known->allowed && !command.allowed) {
        const std::string name = known->command;
        *known = command;
        known->command = name;
      }
    }
  }
  return rows;
}

}  // namespace farport::cli
