// farport run: runs a tool with a private mirror.
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/log.hpp"
#include "cli/commands/run_plan.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/setup/explain.hpp"
#include "cli/setup/own_directory.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/terminal/table.hpp"
#include "config/resolve.hpp"
#include "transport/child_process.hpp"
#include "transport/timer.hpp"

namespace farport::cli {
namespace {

using transport::ChildProcess;

std::vector<std::string> environment_with(const std::string& tmpdir) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "TMPDIR=", 7) != 0) environment.emplace_back(*entry);
  }
  environment.push_back("TMPDIR=" + tmpdir);
  return environment;
}

/// The directory of `dotnet tool install --global`, which is not always in PATH.
std::string in_dotnet_tools(const std::string& name) {
  const char* home = std::getenv("HOME");
  if (home == nullptr || name.find('/') != std::string::npos) return {};
  std::string path = std::string(home) + "/.dotnet/tools/" + name;
  return ::access(path.c_str(), X_OK) == 0 ? path : std::string();
}

/// Starts `arguments[0]`, looked for in PATH and then in ~/.dotnet/tools, with our standard streams and our
/// environment, except that TMPDIR becomes `tmpdir`. Fails if it can't be found or started (`cause` is the
/// errno value).
Result<std::unique_ptr<ChildProcess>> start_tool(transport::Loop& loop, std::vector<std::string> arguments,
                                                 const std::string& tmpdir) {
  const std::string name = arguments.front();
  const std::vector<std::string> environment = environment_with(tmpdir);
  auto tool = ChildProcess::start(loop, {arguments, environment});
  const bool missing = !tool && tool.error().cause == ENOENT;
  const std::string elsewhere = missing ? in_dotnet_tools(name) : std::string();
  if (!elsewhere.empty()) {
    arguments.front() = elsewhere;
    tool = ChildProcess::start(loop, {arguments, environment});
  }
  if (!tool && tool.error().cause == ENOENT) {
    return fail_errno("start", name, ENOENT, "install it with: dotnet tool install --global " + name);
  }
  return tool;
}

using transport::Task;

constexpr int kNotFound = 127;
constexpr int kOwnFailure = 125;

/// Reports agents that are missing while others are connected.
void report_missing(const router::Mirror& mirror) {
  for (const router::LinkRow& link : mirror.links()) {
    if (!link.connected && !link.last_error.empty()) {
      report(Error{"reach", link.agent, link.last_error});
    }
  }
}

Task<void> follow(router::Mirror& mirror, TargetSockets& sockets) {
  for (;;) {
    co_await mirror.changed().wait();
    sockets.look();
  }
}

/// Waits until the agents have listed their runtimes. Returns the exit code if a signal came instead.
Task<Result<std::optional<int>>> settle(transport::Loop& loop, router::Mirror& mirror) {
  CO_RETURN_IF_ERROR(co_await mirror.start());
  int interrupted = 0;
  const transport::SignalWatch early(loop, {SIGINT, SIGQUIT, SIGTERM, SIGHUP}, [&](int number) {
    interrupted = number;
    mirror.stop_settling();
  });
  const transport::Deadline limit(loop, router::kSettleLimit, [&mirror] { mirror.stop_settling(); });
  const Result<void> settled = co_await mirror.settled();
  if (interrupted != 0) co_return std::optional<int>(transport::kKilledBySignal + interrupted);
  if (!settled) co_return tl::unexpected(settled.error());
  co_return std::optional<int>();
}

/// The parts of a run, which must outlive it.
struct Run {
  router::Mirror& mirror;
  const std::string& directory;  ///< Private; for the tool's sockets.
  const RunPlan& plan;
  Log notices;  ///< The log if it holds only notices; otherwise null.
};

Task<Result<int>> run_tool(transport::Loop& loop, Run run, std::vector<std::string> tool) {
  TargetSockets sockets(run.mirror, run.directory);
  CO_ASSIGN_OR_RETURN(const auto ended, co_await settle(loop, run.mirror));
  if (ended) co_return *ended;
  report_missing(run.mirror);
  CO_ASSIGN_OR_RETURN(auto arguments, sockets.rewrite(std::move(tool), run.plan.targets));
  // Initial problems were reported; from here on report changes.
  if (run.notices != nullptr) run.notices->set_level(LogLevel::warn);
  // Set up before the tool runs, since a signal may come at once. The terminal sends Ctrl-C to both processes
  // and the tool decides what it means; other signals reach only this process.
  transport::ChildProcess* running = nullptr;
  const transport::SignalWatch terminal(loop, {SIGINT, SIGQUIT}, [](int) {});
  const transport::SignalWatch others(loop, {SIGTERM, SIGHUP}, [&running](int number) {
    if (running != nullptr) running->signal(number);
  });
  CO_ASSIGN_OR_RETURN(auto process, start_tool(loop, std::move(arguments), run.directory));
  running = process.get();
  Task<void> following = follow(run.mirror, sockets);
  following.start();
  const int code = co_await running->wait();
  // The tool may have taken cut-off data for complete.
  co_return code == 0 && run.mirror.cut_off() > 0 ? kOwnFailure : code;
}

int run(const config::RunSettings& settings) {
  const auto fatal = [](const Error& error) {
    report(error);
    return error.what == "start" && error.cause == ENOENT ? kNotFound : kOwnFailure;
  };
  const Result<Log> log =
      settings.log_level_given ? make_log(settings.log.level, settings.log.format) : make_notices();
  if (!log) return fatal(log.error());
  const auto plan = make_run_plan(settings);
  if (!plan) return fatal(plan.error());
  auto agents = agents_of(plan->remotes);
  if (!agents) return fatal(agents.error());
  const auto directory = make_private_directory();
  if (!directory) return fatal(directory.error());
  transport::Loop loop;
  router::MirrorSettings mirror_settings{std::move(*agents), (*directory)->path()};
  mirror_settings.session = session_options(settings.session);
  router::Mirror mirror(loop, *log, std::move(mirror_settings));
  const Run running{mirror, (*directory)->path(), *plan, settings.log_level_given ? nullptr : *log};
  const Result<int> code = loop.run(run_tool(loop, running, settings.tool));
  const Missing missing = mirror.rows().empty() ? Missing::everything : Missing::something;
  std::vector<std::string> explanation;
  if (!code && (missing == Missing::everything || code.error().cause == ESRCH))
    explanation = loop.run(explain_mirror(mirror, missing, true));
  loop.run(mirror.leave());
  if (code) return *code;
  const int failed = fatal(code.error());
  print_messages(explanation);
  return failed;
}

constexpr const char* kRunAbout =
    "Runs a tool with a private mirror. In the tool's arguments, --diagnostic-port\n"
    "HOST:PORT[/RUNTIME][,listen], and a remote runtime's -p PID or -n NAME, are replaced by those of the\n"
    "mirrored runtime; with ,listen the tool gets the next runtime that starts, or RUNTIME. Returns the\n"
    "tool's exit code, or 125 if its connection was cut off.";
constexpr const char* kRunExamples = R"(Examples:
  farport run -- dotnet-trace collect --diagnostic-port orders.example:9000
  farport run -- dotnet-trace collect --duration 00:00:30 \
      --diagnostic-port orders.example:9000/orders
  farport run -- dotnet-trace collect \
      --diagnostic-port orders.example:9000,listen     (the next that starts)
  farport run orders.example:9000 -- dotnet-counters monitor -n orders
  farport run prod-orders -- dotnet-stack report -p 1
  farport run podman://orders -- dotnet-trace collect -n orders)";

RunCommand add_run_options(CLI::App& options, config::Flags& flags) {
  add_remotes(options, flags);
  return [&flags] { return run_with(config::resolve_run(flags), run); };
}

}  // namespace

const Command kRun{"run", "Run one tool with a private mirror", kRunAbout, kRunExamples, add_run_options};

}  // namespace farport::cli
