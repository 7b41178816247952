// farport crashes: lists the runtimes that have ended, whose last minutes an agent's recorder has kept.
#include <algorithm>
#include <cstdio>
#include <iterator>

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/terminal/table.hpp"
#include "config/resolve.hpp"
#include "router/mirror/find_agents.hpp"
#include "router/wire/runtime.hpp"

namespace farport::cli {
namespace {

struct Crash {
  std::string agent;  ///< Its address.
  router::EndedRuntime ended;
};

struct Crashes {
  std::vector<Crash> all;
  std::vector<Error> failures;
};

void add(Crashes& crashes, const router::FoundAgent& found, const router::MirroredAgent& agent) {
  auto ended = router::all_ended_from_json(found.answer);
  if (!ended) return crashes.failures.push_back(ended.error());
  for (router::EndedRuntime& each : *ended) {
    // Two agents may share a directory.
    const auto same = [&each](const Crash& known) { return known.ended.id == each.id; };
    if (router::is_selected(agent.select, each.runtime) && std::ranges::none_of(crashes.all, same))
      crashes.all.push_back({found.client->address(), std::move(each)});
  }
}

transport::Task<Crashes> list_crashes(transport::Loop& loop, std::vector<router::MirroredAgent> agents) {
  Crashes crashes;
  auto all = co_await router::find_all_agents(loop, agents, router::ClientOptions(loop), "/v1/crashes");
  for (std::size_t i = 0; i < agents.size(); ++i) {
    if (!all[i]) crashes.failures.push_back(all[i].error());
    for (std::size_t j = 0; all[i] && j < all[i]->size(); ++j) add(crashes, (*all[i])[j], agents[i]);
  }
  co_await router::leave_all(loop, std::move(all));
  std::ranges::stable_sort(crashes.all, {}, [](const Crash& each) { return each.ended.ended; });
  co_return crashes;
}

std::string crashes_as_json(const std::vector<Crash>& crashes) {
  nlohmann::json all = nlohmann::json::array();
  for (const Crash& each : crashes) {
    nlohmann::json object = nlohmann::json::parse(router::to_json(each.ended));
    object["agent"] = each.agent;
    all.push_back(std::move(object));
  }
  return all.dump(2) + "\n";
}

std::string crashes_as_table(const std::vector<Crash>& crashes) {
  std::vector<Column> columns{{"ENDED", 4}, {"NAME", 7, 12}, {"PID", 5}, {"ENDED WITH", 8, 16},
                              {"KEPT", 3},  {"HOST", 1, 10}, {"ID", 9}};
  const bool containers = std::ranges::any_of(
      crashes, [](const Crash& each) { return !each.ended.runtime.container.id.empty(); });
  const auto before_pid = 2;
  if (containers) columns.insert(columns.begin() + before_pid, {"CONTAINER", 7, 12});
  std::vector<TableRow> rows;
  for (const Crash& each : crashes) {
    const router::EndedRuntime& ended = each.ended;
    TableRow row{ended.ended,
                 ended.runtime.name,
                 std::to_string(ended.runtime.pid),
                 ended.reason.empty() ? "unknown" : ended.reason,
                 fmt::format("{} s", ended.seconds),
                 ended.runtime.host,
                 ended.id};
    if (containers) row.insert(row.begin() + before_pid, ended.runtime.container.text());
    rows.push_back(std::move(row));
  }
  return join_lines(table_lines(columns, rows, terminal_size(STDOUT_FILENO).columns));
}

int crashes(const config::PsSettings& settings) {
  ASSIGN_OR_REPORT(auto agents, agents_of(settings.remotes), kUsage);
  transport::Loop loop;
  const Crashes found = loop.run(list_crashes(loop, std::move(agents)));
  for (const Error& failure : found.failures) report(failure);
  if (settings.json) {
    std::fputs(crashes_as_json(found.all).c_str(), stdout);
  } else if (!found.all.empty()) {
    std::fputs(crashes_as_table(found.all).c_str(), stdout);
  } else if (found.failures.empty()) {
    print_message("no runtime is kept that has ended and that you may record");
  }
  return found.failures.empty() ? kSuccess : kFailure;
}

constexpr const char* kCrashesAbout =
    "Lists the runtimes that have ended in whatever way, whose last minutes their agents have kept, the\n"
    "latest last. The agents must have been started with --recorder and --recorder-directory.";
constexpr const char* kCrashesExamples = R"(Examples:
  farport crashes orders.example:9000
  farport recent orders.example:9000 --crash 20261127T101112Z-orders-1-1a2b3c4d -o crash.html)";

RunCommand add_crashes_options(CLI::App& options, config::Flags& flags) {
  add_remotes(options, flags);
  add_json_option(options, flags.json, "Print a JSON array");
  return [&flags] { return run_with(config::resolve_ps(flags, kCrashes.name), crashes); };
}

}  // namespace

const Command kCrashes{"crashes", "List remote runtimes that have ended, whose last minutes are kept",
                       kCrashesAbout, kCrashesExamples, add_crashes_options};

}  // namespace farport::cli
