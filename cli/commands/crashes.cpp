// farport crashes: lists the runtimes that have ended, whose last minutes an agent's recorder has kept.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/commands/artifacts.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/terminal/table.hpp"
#include "config/resolve.hpp"
#include "router/wire/artifact.hpp"

namespace farport::cli {
namespace {

std::string crashes_as_table(const std::vector<router::Artifact>& crashes) {
  std::vector<Column> columns{{"ENDED", 4}, {"NAME", 7, 12}, {"PID", 5}, {"ENDED WITH", 8, 16},
                              {"KEPT", 3},  {"HOST", 1, 10}, {"ID", 9}};
  const bool containers = std::ranges::any_of(
      crashes, [](const router::Artifact& each) { return !each.runtime.container.id.empty(); });
  const auto before_pid = 2;
  if (containers) columns.insert(columns.begin() + before_pid, {"CONTAINER", 7, 12});
  std::vector<TableRow> rows;
  for (const router::Artifact& each : crashes) {
    TableRow row{each.time,
                 each.runtime.name,
                 std::to_string(each.runtime.pid),
                 each.why.empty() ? "unknown" : each.why,
                 fmt::format("{} s", each.seconds),
                 each.runtime.host,
                 each.id};
    if (containers) row.insert(row.begin() + before_pid, each.runtime.container.text());
    rows.push_back(std::move(row));
  }
  return join_lines(table_lines(columns, rows, terminal_size(STDOUT_FILENO).columns));
}

int crashes(const config::PsSettings& settings) {
  return list_artifacts(settings, router::kCrash, crashes_as_table,
                        "no runtime is kept that has ended and that you may record");
}

constexpr const char* kCrashesAbout =
    "Lists the runtimes that have ended in whatever way, whose last minutes their agents have kept, the\n"
    "latest last. The agents must have been started with --recorder and --artifacts.";
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
