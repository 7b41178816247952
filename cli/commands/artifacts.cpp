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
#include "cli/output/heap_output.hpp"
#include "cli/output/output.hpp"
#include "cli/output/recording_sink.hpp"
#include "cli/setup/helpers.hpp"
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

/// Where the content of an artifact goes.
class ContentTarget {
 public:
  ContentTarget() = default;
  ContentTarget(const ContentTarget&) = delete;
  ContentTarget& operator=(const ContentTarget&) = delete;
  virtual ~ContentTarget() = default;

  virtual Task<Result<void>> take(std::shared_ptr<const Piece> piece) = 0;
  /// After the last byte, all of which are what the agent has said. Errors: there is no file.
  virtual Task<Result<void>> keep() = 0;
};

/// A file with the content as it is.
class ContentFile final : public ContentTarget {
 public:
  ContentFile(transport::Loop& loop, std::shared_ptr<RecordingFile> file)
      : loop_(loop), file_(std::move(file)) {}

  Task<Result<void>> take(std::shared_ptr<const Piece> piece) override {
    return file_->append(loop_, std::move(piece));
  }
  Task<Result<void>> keep() override { co_return file_->keep(); }

 private:
  transport::Loop& loop_;
  std::shared_ptr<RecordingFile> file_;
};

/// A file that is made of a heap's events.
class HeapFile final : public ContentTarget {
 public:
  HeapFile(transport::Loop& loop, const router::ReaderProcess& readers, std::unique_ptr<OutputFile> file)
      : file_(std::move(file)), sink_(loop, readers, file_.get()) {}

  [[nodiscard]] Result<void> begin(const router::Runtime& runtime, const std::string& path) {
    return sink_.begin_kept(runtime, path);
  }
  Task<Result<void>> take(std::shared_ptr<const Piece> piece) override {
    return sink_.take(std::move(piece));
  }
  Task<Result<void>> keep() override {
    CO_RETURN_IF_ERROR(co_await sink_.finish());
    if (!sink_.made_file()) co_return fail("make", "the heap's file", "its reader made none");
    co_return file_->keep();
  }

 private:
  std::unique_ptr<OutputFile> file_;
  HeapSink sink_;
};

/// Whether its content is a heap's events.
bool is_heap(const router::Artifact& artifact) {
  return artifact.ending == router::kHeapEventsEnding;
}

/// Creates the file, before anything is asked for.
Result<std::unique_ptr<ContentTarget>> open_target(transport::Loop& loop, const router::Artifact& wanted,
                                                   const router::ReaderProcess& readers,
                                                   const std::string& path, bool force) {
  if (is_heap(wanted) && (path.ends_with(".gcdump") || path.ends_with(".json"))) {
    ASSIGN_OR_RETURN(auto file, open_heap_output(path, force));
    auto heap = std::make_unique<HeapFile>(loop, readers, std::move(file));
    RETURN_IF_ERROR(heap->begin(wanted.runtime, path));
    return heap;
  }
  ASSIGN_OR_RETURN(auto file, RecordingFile::create(path, force));
  // The reader of a heap's events finds that out by itself.
  if (!wanted.gaps.empty()) print_message(wanted.gaps);
  return std::make_unique<ContentFile>(loop, std::move(file));
}

Task<Result<void>> take_content(router::ArtifactCheck& check, ContentTarget& target, ProgressLine& line,
                                std::vector<std::byte> bytes) {
  CO_RETURN_IF_ERROR(check.add(bytes));
  const std::size_t size = bytes.size();
  line.add(size);
  auto taken = co_await target.take(std::make_shared<const Piece>(std::move(bytes), size));
  co_return taken;
}

/// Gets one into a file, and returns the file's path.
Task<Result<std::string>> get_one(transport::Loop& loop, const KeptArtifacts& kept,
                                  const config::ArtifactsSettings& settings,
                                  const router::ReaderProcess& readers) {
  CO_ASSIGN_OR_RETURN(const KeptArtifact wanted, find_kept(kept, settings.get));
  const std::string name =
      is_heap(wanted.artifact) ? wanted.artifact.id + ".gcdump" : wanted.artifact.file_name();
  const std::string path = output_path(settings.output.empty() ? name : settings.output, {}, {});
  CO_ASSIGN_OR_RETURN(const auto target, open_target(loop, wanted.artifact, readers, path, settings.force));
  ProgressLine line(loop);
  line.begin("getting " + wanted.artifact.file_name(), std::nullopt);
  router::ArtifactCheck check(wanted.artifact);
  router::TakeContent take = [&](std::vector<std::byte> bytes) {
    return take_content(check, *target, line, std::move(bytes));
  };
  const Result<void> got =
      co_await router::download_artifact(wanted.agent->sessions(), wanted.artifact.id, 0, std::move(take));
  line.end();
  CO_RETURN_IF_ERROR(got);
  CO_RETURN_IF_ERROR(check.end());
  if (wanted.artifact.state == router::Artifact::State::cut)
    print_message("it ends early: " + wanted.artifact.why);
  CO_RETURN_IF_ERROR(co_await target->keep());
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
                                                       const router::ReaderProcess& readers,
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
    done = co_await first_of(get_one(loop, *kept, settings, readers), stop.wait());
  }
  co_await first_of(kept->leave(loop), stop.again());
  co_return done;
}

int artifacts(const config::ArtifactsSettings& settings) {
  if (!settings.follow.empty()) return follow_artifacts(settings);
  if (settings.get.empty() && settings.remove.empty())
    return list_artifacts(settings, {}, artifacts_as_table, "nothing is kept that you may have");
  ASSIGN_OR_REPORT(auto agents, agents_of(settings.remotes), kUsage);
  HeapForm heap;
  heap.unended = "-o FILE.nettrace gets what there is";
  const auto readers = start_readers(settings.remotes.front(), heap_reader_work(std::move(heap), 0));
  if (!readers) return report(readers.error());
  transport::Loop loop;
  transport::StopSource stop(loop);
  const transport::SignalWatch signals(loop, {SIGINT, SIGTERM}, [&stop](int) { stop.stop(); });
  const auto done = loop.run(use_artifacts(loop, std::move(agents), settings, *readers, stop));
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
  add_output(options, flags,
             "With --get: the file; of a heap as .gcdump, as .json (types), or else as it is kept [its id, "
             "with an extension]");
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
