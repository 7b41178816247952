// farport artifacts: lists what agents keep, gets it, and removes it.
#include "cli/commands/artifacts.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
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
#include "cli/output/recording_sink.hpp"
#include "cli/setup/kept_artifacts.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/setup/runtime_session.hpp"
#include "cli/terminal/live_region.hpp"
#include "cli/terminal/table.hpp"
#include "config/resolve.hpp"
#include "router/mirror/artifact_download.hpp"
#include "router/wire/dump.hpp"
#include "transport/child_process.hpp"
#include "transport/race.hpp"

namespace farport::cli {
namespace {

using transport::Task;

struct KeptList {
  std::vector<router::Artifact> artifacts;
  std::vector<std::string> agents;  ///< The address of each one's agent.
  std::vector<Error> failures;
};

Task<KeptList> list_kept(transport::Loop& loop, std::vector<router::MirroredAgent> agents,
                         std::string_view kind) {
  auto kept = co_await KeptArtifacts::ask(loop, std::move(agents), router::ClientOptions(loop));
  KeptList listed;
  listed.failures = kept.failures();
  for (const KeptArtifact& each : kept.all()) {
    if (!kind.empty() && each.artifact.kind != kind) continue;
    listed.artifacts.push_back(each.artifact);
    listed.agents.push_back(each.agent->address());
  }
  co_await kept.leave(loop);
  co_return listed;
}

std::string as_json(const KeptList& listed) {
  nlohmann::json all = nlohmann::json::array();
  for (std::size_t at = 0; at < listed.artifacts.size(); ++at) {
    nlohmann::json object = nlohmann::json::parse(router::to_json(listed.artifacts[at]));
    object["agent"] = listed.agents[at];
    all.push_back(std::move(object));
  }
  return all.dump(2) + "\n";
}

std::string state_of(const router::Artifact& artifact) {
  std::string state(to_string(artifact.state));
  if (artifact.kind == router::kCrash && !artifact.why.empty()) {
    state = artifact.why;
  } else if (!artifact.why.empty()) {
    state += ": " + artifact.why;
  } else if (!artifact.gaps.empty()) {
    state += ": " + artifact.gaps;
  }
  const bool goes_straight = !artifact.only_in.empty() && artifact.sent_to.empty();
  if (goes_straight) state += fmt::format("; straight to {}", artifact.only_in);
  if (!artifact.sent_to.empty()) state += fmt::format("; sent to {}", fmt::join(artifact.sent_to, ", "));
  return state;
}

std::string artifacts_as_table(const std::vector<router::Artifact>& artifacts) {
  const std::vector<Column> columns{{"TIME", 4},  {"KIND", 8},      {"NAME", 7, 12}, {"SIZE", 5},
                                    {"BY", 2, 8}, {"STATE", 6, 16}, {"HOST", 1, 10}, {"ID", 9}};
  std::vector<TableRow> rows;
  for (const router::Artifact& each : artifacts) {
    rows.push_back({each.time, each.kind, each.runtime.name, router::mebibytes(each.bytes), each.taken_by,
                    state_of(each), each.runtime.host, each.id});
  }
  return join_lines(table_lines(columns, rows, terminal_size(STDOUT_FILENO).columns));
}

}  // namespace

int list_artifacts(const config::PsSettings& settings, std::string_view kind,
                   std::string (*as_table)(const std::vector<router::Artifact>&), const char* none) {
  ASSIGN_OR_REPORT(auto agents, agents_of(settings.remotes), kUsage);
  transport::Loop loop;
  const KeptList listed = loop.run(list_kept(loop, std::move(agents), kind));
  for (const Error& failure : listed.failures) report(failure);
  if (settings.json) {
    std::fputs(as_json(listed).c_str(), stdout);
  } else if (!listed.artifacts.empty()) {
    std::fputs(as_table(listed.artifacts).c_str(), stdout);
  } else if (listed.failures.empty()) {
    print_message(none);
  }
  return listed.failures.empty() ? kSuccess : kFailure;
}

namespace {

/// The one that has this id. Errors: there is none, or an agent was not asked.
Result<KeptArtifact> find_kept(const KeptArtifacts& kept, const std::string& id) {
  const KeptArtifact* const found = kept.find(id);
  if (found != nullptr) return *found;
  if (!kept.failures().empty()) return tl::unexpected(kept.failures().front());
  return fail("find", id, "nothing that you may have is kept under this id",
              "farport artifacts lists what is");
}

Task<Result<void>> take_content(transport::Loop& loop, router::ArtifactCheck& check, RecordingFile& file,
                                ProgressLine& line, std::vector<std::byte> bytes) {
  CO_RETURN_IF_ERROR(check.add(bytes));
  const std::size_t size = bytes.size();
  line.add(size);
  auto appended = co_await file.append(loop, std::make_shared<const Piece>(std::move(bytes), size));
  co_return appended;
}

/// Gets one into a file, and returns the file's path.
Task<Result<std::string>> get_one(transport::Loop& loop, const KeptArtifacts& kept,
                                  const config::ArtifactsSettings& settings) {
  CO_ASSIGN_OR_RETURN(const KeptArtifact wanted, find_kept(kept, settings.get));
  const std::string name = wanted.artifact.file_name();
  const std::string path = output_path(settings.output.empty() ? name : settings.output, {}, {});
  CO_ASSIGN_OR_RETURN(const auto file, RecordingFile::create(path, settings.force));
  ProgressLine line(loop);
  line.begin("getting " + name, std::nullopt);
  router::ArtifactCheck check(wanted.artifact);
  router::TakeContent take = [&](std::vector<std::byte> bytes) {
    return take_content(loop, check, *file, line, std::move(bytes));
  };
  const Result<void> got =
      co_await router::download_artifact(wanted.agent->sessions(), wanted.artifact.id, 0, std::move(take));
  line.end();
  CO_RETURN_IF_ERROR(got);
  CO_RETURN_IF_ERROR(check.end());
  if (wanted.artifact.state == router::Artifact::State::cut)
    print_message("it ends early: " + wanted.artifact.why);
  if (!wanted.artifact.gaps.empty()) print_message(wanted.artifact.gaps);
  CO_RETURN_IF_ERROR(file->keep());
  co_return path;
}

/// Removes what has these ids. The first failure ends it.
Task<Result<std::string>> remove_all(const KeptArtifacts& kept, const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    CO_ASSIGN_OR_RETURN(const KeptArtifact wanted, find_kept(kept, id));
    CO_RETURN_IF_ERROR(co_await wanted.agent->ask("DELETE", "/v1/artifacts/" + id));
    print_message("removed " + id);
  }
  co_return std::string();
}

/// What was asked for, and empty if it was stopped before.
Task<std::optional<Result<std::string>>> use_artifacts(transport::Loop& loop,
                                                       std::vector<router::MirroredAgent> agents,
                                                       const config::ArtifactsSettings& settings,
                                                       transport::StopSource& stop) {
  auto kept =
      co_await first_of(KeptArtifacts::ask(loop, std::move(agents),
                                           router::ClientOptions(loop, session_options(settings.session))),
                        stop.wait());
  if (!kept) co_return std::nullopt;
  std::optional<Result<std::string>> done;
  if (settings.get.empty()) {
    done = co_await first_of(remove_all(*kept, settings.remove), stop.wait());
  } else {
    done = co_await first_of(get_one(loop, *kept, settings), stop.wait());
  }
  co_await first_of(kept->leave(loop), stop.again());
  co_return done;
}

int artifacts(const config::ArtifactsSettings& settings) {
  if (!settings.follow.empty()) return follow_artifacts(settings);
  if (settings.get.empty() && settings.remove.empty())
    return list_artifacts(settings, {}, artifacts_as_table, "nothing is kept that you may have");
  ASSIGN_OR_REPORT(auto agents, agents_of(settings.remotes), kUsage);
  transport::Loop loop;
  transport::StopSource stop(loop);
  const transport::SignalWatch signals(loop, {SIGINT, SIGTERM}, [&stop](int) { stop.stop(); });
  const auto done = loop.run(use_artifacts(loop, std::move(agents), settings, stop));
  if (!done) return report(interrupted(settings.get.empty() ? "remove" : "get", "what is kept"));
  if (!*done) return report(done->error());
  if (!(*done)->empty()) std::ignore = print_path(**done);
  return kSuccess;
}

constexpr const char* kArtifactsAbout =
    "Lists what agents keep in their directory: the last minutes of runtimes that have ended, and what was\n"
    "taken with --keep. Gets one into a file, or removes some. You see what you may take of these runtimes.\n"
    "With --follow all come to a directory here as they appear, each once, until Ctrl-C, and what was\n"
    "interrupted goes on. The agents must have been started with --artifacts.";
constexpr const char* kArtifactsExamples = R"(Examples:
  farport artifacts orders.example:9000
  farport artifacts orders.example:9000 --get 20261127T101112Z-orders-1-1a2b3c4d
  farport artifacts orders.example:9000 --remove 20261127T101112Z-orders-1-1a2b3c4d
  farport artifacts k8s://prod/ds/farport --follow incidents)";

RunCommand add_artifacts_options(CLI::App& options, config::Flags& flags) {
  const auto into = std::make_shared<config::ArtifactsSettings>();
  add_remotes(options, flags);
  add_json_option(options, flags.json, "Print a JSON array");
  options.add_option("--get", into->get, "Get this one into a file, and print its path")->type_name("ID");
  add_list(options, "--remove", into->remove, "Remove this one; may be repeated", "ID[,ID]");
  add_output(options, flags, "With --get: the file [its id, with an extension]");
  options
      .add_option("--follow", into->follow,
                  "Receive all into this directory as they appear, each once, and print their paths")
      ->type_name("DIR");
  return [&flags, into] { return run_with(config::resolve_artifacts(flags, *into), artifacts); };
}

}  // namespace

const Command kArtifacts{"artifacts", "List, get and remove what agents keep", kArtifactsAbout,
                         kArtifactsExamples, add_artifacts_options};

}  // namespace farport::cli
