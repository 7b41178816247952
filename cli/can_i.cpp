#include <algorithm>
#include <cstdio>

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cli/abilities.hpp"
#include "cli/ask_all.hpp"
#include "cli/command_name.hpp"
#include "cli/commands.hpp"
#include "cli/explain.hpp"
#include "cli/remotes.hpp"
#include "cli/table.hpp"
#include "router/mirror/ask_agent.hpp"
#include "router/wire/access_row.hpp"

namespace farport::cli {
namespace {

using router::AccessRow;

/// What a command is answered with, for one runtime or for all alike.
TableRow table_row(const AccessRow& row, const std::string& runtime) {
  return {row.command, runtime, row.allowed ? "yes" : "no",
          row.allowed ? row.role + " (" + row.rule + ")" : row.why};
}

bool same_answer(const AccessRow& a, const AccessRow& b) {
  return a.allowed == b.allowed && a.rule == b.rule && a.role == b.role && a.why == b.why;
}

/// The rows that are about one command follow each other: where all say the same, one line says it.
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

/// The agent's own rows, each with the agent's address.
void add_json(nlohmann::json& all, const router::AgentAnswer& answer) {
  for (nlohmann::json row : nlohmann::json::parse(answer.body)) {
    row["agent"] = answer.address;
    all.push_back(std::move(row));
  }
}

}  // namespace

int can_i(const config::CanISettings& settings) {
  if (!settings.command.empty()) {
    const Result<void> known = check_command_name(settings.command);
    if (!known) return report(known.error(), kUsage);
  }
  const auto agents = agents_of(settings.remotes);
  if (!agents) return report(agents.error(), kUsage);
  const std::string path =
      "/v1/access" + (settings.command.empty() ? std::string() : "?command=" + settings.command);
  const bool as_commands = settings.all || !settings.command.empty();
  nlohmann::json json = nlohmann::json::array();
  transport::Loop loop;
  bool all_allowed = true;
  const auto asked = loop.run(ask_all(loop, *agents, path));
  for (std::size_t i = 0; i < agents->size(); ++i) {
    const auto& answers = asked[i];
    if (!answers) return report(answers.error());
    for (const router::AgentAnswer& answer : *answers) {
      const auto rows = router::access_from_json(answer.body);
      if (!rows) return report(rows.error());
      if (settings.json) {
        add_json(json, answer);
      } else {
        const std::string text =
            as_commands ? as_table(*rows, "COMMAND") : as_table(abilities_of(*rows), "MAY I");
        std::fputs(text.c_str(), stdout);
      }
      const bool none =
          std::all_of(rows->begin(), rows->end(), [](const AccessRow& row) { return row.runtime.empty(); });
      if (none) loop.run(print_explanation(loop, {(*agents)[i]}, Missing::everything, answer.address));
      all_allowed = all_allowed &&
                    std::all_of(rows->begin(), rows->end(), [](const AccessRow& r) { return r.allowed; });
    }
  }
  if (settings.json) std::fputs((json.dump(2) + "\n").c_str(), stdout);
  return all_allowed || settings.command.empty() ? kSuccess : kFailure;
}

}  // namespace farport::cli
