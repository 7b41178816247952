#include "cli/commands/abilities.hpp"

#include <algorithm>

#include "auth/rules.hpp"

namespace farport::cli {
namespace {

using router::AccessRow;

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
      {"profile the processor (farport profile)", {auth::kProfile}},
      {"see the kernel in that", {auth::kProfileKernel}},
      {"dump (dotnet-dump, farport dump)", {"GenerateCoreDump3"}},
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
