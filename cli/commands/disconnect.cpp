// farport disconnect: ends detached mirrors, or lists them.
#include <algorithm>

#include <CLI/CLI.hpp>

#include "cli/commands/detached_mirrors.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/terminal/table.hpp"

namespace farport::cli {
namespace {

std::string names_of(const FoundMirror& found) {
  std::string names;
  for (const std::string& agent : found.mirror.agents) names += (names.empty() ? "" : " ") + agent;
  return names;
}

bool mirrors(const FoundMirror& found, const std::string& agent) {
  const std::vector<std::string>& agents = found.mirror.agents;
  return std::find(agents.begin(), agents.end(), agent) != agents.end();
}

int list(const std::vector<FoundMirror>& all) {
  if (all.empty()) {
    print(stdout, "No detached mirror is running. Start one with: farport connect --detach AGENT\n");
    return kSuccess;
  }
  std::vector<TableRow> rows;
  for (const FoundMirror& found : all) {
    rows.push_back({names_of(found), found.pid == 0 ? "has ended" : "running", found.mirror.since,
                    found.mirror.socket_dir, found.mirror.log});
  }
  const std::vector<Column> columns{
      {"AGENTS", 9, 12}, {"STATE", 8}, {"SINCE", 5}, {"SOCKETS IN", 1}, {"LOG", 10}};
  std::fputs(join_lines(table_lines(columns, rows, terminal_size(STDOUT_FILENO).columns)).c_str(), stdout);
  return kSuccess;
}

/// The mirrors of these agents. Fails if an agent has no mirror.
Result<std::vector<FoundMirror>> chosen(const std::vector<FoundMirror>& all,
                                        const std::vector<std::string>& agents) {
  std::string known;
  for (const FoundMirror& found : all) known += (known.empty() ? "" : ", ") + names_of(found);
  for (const std::string& agent : agents) {
    if (std::any_of(all.begin(), all.end(), [&](const FoundMirror& each) { return mirrors(each, agent); }))
      continue;
    return fail(
        "disconnect from", agent, "no detached mirror for it is running",
        known.empty() ? "no detached mirror is running at all" : "detached mirrors are running for " + known);
  }
  std::vector<FoundMirror> meant;
  std::copy_if(all.begin(), all.end(), std::back_inserter(meant), [&](const FoundMirror& each) {
    return std::any_of(agents.begin(), agents.end(),
                       [&](const std::string& agent) { return mirrors(each, agent); });
  });
  return meant;
}

int disconnect(const config::Flags& flags) {
  ASSIGN_OR_REPORT(const auto all, find_detached_mirrors());
  if (flags.remotes.empty() && !flags.all) return list(all);
  ASSIGN_OR_REPORT(const auto meant,
                   flags.all ? Result<std::vector<FoundMirror>>(all) : chosen(all, flags.remotes));
  int exit_code = kSuccess;
  for (const FoundMirror& found : meant) {
    const Result<void> ended = end_detached_mirror(found);
    if (!ended) {
      exit_code = report(ended.error());
    } else if (found.pid == 0) {
      print(stdout, "the mirror of {} had ended by itself\n", names_of(found));
    } else {
      print(stdout, "disconnected from {}\n", names_of(found));
    }
  }
  return exit_code;
}

constexpr const char* kDisconnectAbout =
    "Stops mirrors that farport connect --detach has started. Without an AGENT, lists those that are\n"
    "running.";
constexpr const char* kDisconnectExamples = R"(Examples:
  farport disconnect                      what is running
  farport disconnect orders.example:9000
  farport disconnect --all)";

RunCommand add_disconnect_options(CLI::App& options, config::Flags& flags) {
  options.add_option("AGENT", flags.remotes, "Agent, as named in farport connect --detach");
  options.add_flag("--all", flags.all, "Stop all detached mirrors");
  return [&flags] { return disconnect(flags); };
}

}  // namespace

const Command kDisconnect{"disconnect", "Stop detached mirrors, or list them", kDisconnectAbout,
                          kDisconnectExamples, add_disconnect_options};

}  // namespace farport::cli
