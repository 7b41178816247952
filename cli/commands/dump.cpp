// farport dump: takes a dump of a remote runtime.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/escape.hpp"
#include "cli/commands/keep.hpp"
#include "cli/commands/open.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/output/output.hpp"
#include "cli/setup/explain.hpp"
#include "cli/setup/patience.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/setup/runtime_session.hpp"
#include "cli/terminal/live_region.hpp"
#include "cli/terminal/table.hpp"
#include "config/resolve.hpp"
#include "config/settings.hpp"
#include "router/mirror/dump_receiver.hpp"
#include "transport/child_process.hpp"
#include "transport/race.hpp"

namespace farport::cli {
namespace {

using router::WantedModules;

/// A debugger needs the runtime's own for a heap, and can't download those of every runtime.
WantedModules wanted_modules(const config::DumpCommandSettings& settings) {
  const bool has_heap = settings.type == "heap" || settings.type == "full";
  if (settings.with_runtime.empty()) return has_heap ? WantedModules::needed : WantedModules::none;
  if (settings.with_runtime == "all") return WantedModules::all;
  return settings.with_runtime == "needed" ? WantedModules::needed : WantedModules::none;
}

/// Has an agent take a dump of a runtime, and receives it here or leaves it there.
class DumpTransfer {
 public:
  /// All arguments must outlive the transfer.
  DumpTransfer(transport::Loop& loop, const router::MirroredAgent& agent,
               const config::DumpCommandSettings& settings)
      : settings_(settings),
        session_(loop, agent, settings.session,
                 [this](const Error& why) { bar_.interrupted(why.message()); }),
        patience_(loop, session_, settings.patience, Patience::Work::dump,
                  [this](const std::string& line) { bar_.say(line); }) {}
  DumpTransfer(const DumpTransfer&) = delete;
  DumpTransfer& operator=(const DumpTransfer&) = delete;

  /// Runs until the dump is complete, and returns its path; empty if it was stopped before, in which case the
  /// agent was told. Fails if the runtime isn't found (ESRCH), the agent refuses, or the file can't be
  /// written.
  transport::Task<std::optional<Result<std::string>>> run(transport::StopSource& stop);
  /// Why the runtime may not have been found; see RuntimeSession.
  [[nodiscard]] const std::vector<std::string>& explanation() const { return session_.explanation(); }
  /// What came with the dump, once that is complete.
  [[nodiscard]] const router::ReceivedDump& received() const { return received_; }

 private:
  transport::Task<Result<std::string>> transfer();
  transport::Task<Result<std::string>> receive(router::Runtime runtime, std::string path);

  const config::DumpCommandSettings& settings_;
  router::DumpModules modules_;
  router::ReceivedDump received_;
  ProgressBar bar_;
  RuntimeSession session_;  ///< Outlives the work, so that the agent can be told when it is cancelled.
  Patience patience_;
};

using transport::Task;

/// Warns that the application stops during the dump; if a liveness probe restarts it, the dump is lost.
void say_that_it_stops(const router::Runtime& runtime, const std::optional<router::Restart>& restart) {
  const std::string stands =
      fmt::format("{} (pid {}) is paused while it writes the dump", runtime.name, runtime.pid);
  if (!restart) return print_message(stands + ": liveness probes may restart it");
  print_message(fmt::format("{}: {} restarts it, and the dump is lost, if that takes {} s or more", stands,
                            restart->by, restart->after.count()));
}

/// Bytes per second of createdump when the file system has room in its cache.
constexpr std::uint64_t kUsualRate = 200'000'000;

/// Tells how long the dump is likely to take.
void say_how_long(std::uint64_t bytes, const router::Restart& restart) {
  const auto seconds = static_cast<std::int64_t>(1 + bytes / kUsualRate);
  const bool too_long = seconds >= restart.after.count();
  print_message(fmt::format("about {} to write, estimated {} s{}", router::mebibytes(bytes), seconds,
                            too_long ? ": that is too long; use --type mini, or give the probe a longer "
                                       "timeout (Ctrl-C cancels this dump)"
                                     : ""));
}

Task<Result<std::string>> DumpTransfer::receive(router::Runtime runtime, std::string path) {
  const router::DumpRequest request{*ipc::dump_type_named(settings_.type), 0, settings_.anyway};
  const auto restart = co_await session_.restart();
  bool knows_size = false;
  if (restart) {
    say_that_it_stops(runtime, restart);
    const auto condition = co_await patience_.condition(runtime);
    knows_size = condition && condition->memory > 0;
    if (knows_size)
      say_how_long(router::likely_dump_size(request.type, condition->memory, condition->own_memory),
                   *restart);
  }
  // Progress shows that the agent has not refused.
  router::OnDumpProgress on_progress = [this, &runtime, &restart, knows_size,
                                        said = false](const router::DumpProgress& progress) mutable {
    const bool writes = progress.phase == router::DumpProgress::Phase::writing;
    if (writes && !std::exchange(said, true)) {
      bar_.end();
      if (!restart) say_that_it_stops(runtime, restart);
      // Older or busy agents have not told the size before.
      if (restart && !knows_size && progress.estimate) say_how_long(*progress.estimate, *restart);
    }
    if (!writes || progress.written > 0) patience_.answered();
    bar_.show(progress);
  };
  if (settings_.stay) {
    auto left = co_await router::leave_dump(session_.sessions(), runtime.id, request, std::move(on_progress));
    co_return left;
  }
  CO_ASSIGN_OR_RETURN(
      received_, co_await router::receive_dump(session_.sessions(), runtime.id, request, std::move(modules_),
                                               path, std::move(on_progress)));
  co_return path;
}

Task<Result<std::string>> DumpTransfer::transfer() {
  CO_ASSIGN_OR_RETURN(auto target, co_await session_.open(settings_.runtime));
  const router::Runtime& runtime = target;
  const std::string path = output_path(settings_.output, runtime.name, ".dmp");
  std::error_code error;
  // Checked before the application is stopped for the dump.
  if (!settings_.stay && !settings_.force && std::filesystem::is_regular_file(path, error)) {
    co_return fail("write the dump to", path, "the file already exists",
                   "choose another name, or use --force");
  }
  const WantedModules modules = settings_.stay ? WantedModules::none : wanted_modules(settings_);
  if (modules == WantedModules::all) print_message("receiving the runtime's modules before the dump");
  const auto existing = settings_.force ? OutputFile::Existing::replace : OutputFile::Existing::refuse;
  // The runtime is not asked for these, so it owes no answer yet.
  modules_ = co_await router::receive_dump_modules(session_.sessions(), runtime.id, modules, path, existing);
  auto received = co_await patience_.wait(runtime, receive(runtime, path));
  co_return received;
}

Task<std::optional<Result<std::string>>> DumpTransfer::run(transport::StopSource& stop) {
  auto result = co_await first_of(transfer(), stop.wait());
  co_await first_of(session_.leave(), stop.again());
  bar_.end();
  co_return result;
}

std::string longest_stop_of(const config::DumpCommandSettings& settings) {
  return settings.longest_stop.count() == 0 ? "" : in_seconds(settings.longest_stop);
}

/// Tells how to open the dump. Returns whether all is there that was asked for by name.
bool say_how_to_open(const std::string& path, const router::ReceivedDump& dump, bool by_name) {
  if (dump.without) {
    print_message("a debugger elsewhere may lack the runtime's files: " + dump.without->message());
    return !by_name;
  }
  if (dump.modules.empty()) return true;
  print_message(fmt::format("farport open {} opens it, with what a debugger needs of the runtime in {}",
                            escape(path), escape(dump.modules)));
  std::string line = fmt::format("or: dotnet-dump analyze '{}'", escape(path));
  for (const std::string& each : debugger_commands(dump.modules))
    line += fmt::format(" -c '{}'", escape(each));
  print_message(line);
  return true;
}

/// Has the agent keep the dump, and before that the runtime's files if they were asked for.
int keep_dump(const config::DumpCommandSettings& settings) {
  const WantedModules modules =
      settings.with_runtime.empty() ? WantedModules::none : wanted_modules(settings);
  if (modules != WantedModules::none) {
    const bool all = modules == WantedModules::all;
    const int kept =
        keep(settings.remote, settings.runtime, settings.session, {"modules", {{"all", all ? "true" : ""}}});
    if (kept != kSuccess) return kept;
  }
  return keep(settings.remote, settings.runtime, settings.session,
              {"dump",
               {{"type", settings.type},
                {"longest_stop", longest_stop_of(settings)},
                {"anyway", settings.anyway ? "true" : ""}}});
}

int dump(const config::DumpCommandSettings& settings) {
  if (settings.keep) return keep_dump(settings);
  ASSIGN_OR_REPORT(const auto agents, agents_of({settings.remote}), kUsage);
  transport::Loop loop;
  transport::StopSource stop(loop);
  const transport::SignalWatch signals(loop, {SIGINT, SIGTERM}, [&stop](int) { stop.stop(); });
  DumpTransfer transfer(loop, agents.front(), settings);
  const auto path = loop.run(transfer.run(stop));
  if (!path) {
    std::fputs("farport: the dump was cancelled, and partial files were removed\n", stderr);
    return kInterrupted;
  }
  if (!*path) {
    const int code = report(path->error());
    print_messages(transfer.explanation());
    return code;
  }
  // The agent's path is untrusted text; our own is printed unchanged for scripts.
  const bool shown_to_a_person = settings.stay || ::isatty(STDOUT_FILENO) != 0;
  std::printf("%s\n", shown_to_a_person ? escape(**path).c_str() : (*path)->c_str());
  return say_how_to_open(**path, transfer.received(), !settings.with_runtime.empty()) ? kSuccess : kFailure;
}

constexpr const char* kDumpAbout =
    "Makes a remote runtime write a dump, downloads it, and removes it there. Prints the path; the file\n"
    "gets its name once it is complete. The application is paused while it writes the dump. (With farport\n"
    "connect, dotnet-dump collect does the same.) What a debugger elsewhere needs of the runtime comes into\n"
    "FILE.runtime with a dump of type heap or full; farport open starts dotnet-dump with it.";
constexpr const char* kDumpExamples = R"(Examples:
  farport dump orders.example:9000
  farport dump orders.example:9000/orders -o orders.dmp --type full
  farport dump orders.example:9000/orders --with-runtime all
  farport dump prod-orders/1 --stay
  farport dump podman://orders//orders)";

RunCommand add_dump_options(CLI::App& options, config::Flags& flags) {
  const auto into = std::make_shared<config::DumpCommandSettings>();
  add_target(options, flags);
  options.add_option("-o,--output", flags.output, "Output file [NAME_TIME.dmp]")->type_name("FILE");
  options.add_option("--type", into->type, "Type of dump: mini, heap, triage or full [heap]")
      ->type_name("TYPE")
      ->check(CLI::IsMember({"mini", "heap", "triage", "full"}));
  options.add_flag("--force", flags.force, "Replace an existing file");
  options.add_flag("--stay", into->stay, "Leave the dump on the runtime's host, and print its path there");
  options.add_flag(
      "--anyway", into->anyway,
      "Take it even if the application has too little memory for it, so that the kernel may end it");
  options
      .add_option("--with-runtime", into->with_runtime,
                  "Files of the runtime that a debugger elsewhere needs: needed (some MB), all (with the "
                  "application's own) or none [needed with heap and full; none with --keep]")
      ->type_name("WHICH")
      ->check(CLI::IsMember({"none", "needed", "all"}));
  add_keep(options, flags);
  options
      .add_option(
          "--longest-stop", flags.longest_stop,
          "With --keep: if the agent has no room for it, let it go straight to a store of the agent's, "
          "which stops the application for as long; not if that takes longer than TIME")
      ->type_name("TIME");
  return [&flags, into] { return run_with(config::resolve_dump(flags, *into), dump); };
}

}  // namespace

const Command kDump{"dump", "Take a memory dump of a remote runtime, without .NET tools", kDumpAbout,
                    kDumpExamples, add_dump_options};

}  // namespace farport::cli
