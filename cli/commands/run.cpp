// farport run: runs a tool with a private mirror.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "cli/commands/tool_arguments.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/setup/explain.hpp"
#include "cli/setup/own_directory.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/terminal/table.hpp"
#include "config/resolve.hpp"
#include "router/mirror/mirror.hpp"
#include "router/wire/runtime.hpp"
#include "transport/child_process.hpp"
#include "transport/race.hpp"
#include "transport/timer.hpp"

namespace farport::cli {
namespace {

using router::MirrorRow;
using transport::ChildProcess;
using transport::Task;

/// Connects a tool that listens (--diagnostic-port HOST:PORT,listen) with one runtime of a remote: the named
/// one, otherwise the next that starts or is suspended. Reports on standard error what it waits for and which
/// one it took.
class ToolListener {
 public:
  /// `remote`: as in the mirror's rows. `wanted`: a name, pid or id; empty: any. `socket`: where the tool
  /// listens.
  ToolListener(router::Mirror& mirror, std::string remote, std::string wanted, std::string socket);

  /// To be called when the mirror has listed its runtimes. Fails if several match `wanted`.
  Result<void> begin();
  /// To be called when the mirror has changed.
  void look();

 private:
  [[nodiscard]] std::vector<MirrorRow> rows() const;
  [[nodiscard]] std::optional<MirrorRow> next_to_start() const;
  void take(const MirrorRow& row);

  router::Mirror& mirror_;
  std::string remote_;
  std::string wanted_;
  std::string socket_;
  std::set<std::string> running_;  ///< Ids of runtimes that ran before.
  std::string taken_;              ///< Id of the taken runtime; empty: none yet.
  pid_t dialled_as_ = 0;           ///< Pid of its placeholder; a new placeholder must dial again.
};

/// An argument of the tool that names a remote runtime.
struct RunTarget {
  ToolTarget argument;
  std::optional<RemotePort> port{};  ///< The value of a --diagnostic-port.
  std::string remote{};              ///< Its agent, as in the mirror's rows.
};

/// The remotes and targets of one run.
struct RunPlan {
  std::vector<config::RemoteSettings> remotes;  ///< Those before "--" and in the tool's arguments.
  std::vector<RunTarget> targets;
};

/// Makes the sockets that a tool uses for its targets.
class TargetSockets {
 public:
  /// `directory`: private, for the sockets and links. Both arguments must outlive this.
  TargetSockets(router::Mirror& mirror, const std::string& directory)
      : mirror_(mirror), directory_(directory) {}

  /// The tool's arguments, changed to reach the mirrored runtimes. Fails if none or several runtimes match a
  /// target.
  Result<std::vector<std::string>> rewrite(std::vector<std::string> arguments,
                                           const std::vector<RunTarget>& targets);
  /// Offers new runtimes of the mirror to tools that listen.
  void look();

 private:
  Result<std::string> diagnostic_port(const RunTarget& target);
  Result<std::string> replacement(const RunTarget& target);

  router::Mirror& mirror_;
  const std::string& directory_;
  std::vector<ToolListener> listeners_;
};

std::string described(const router::Runtime& runtime) {
  return fmt::format("{} (pid {}{}{})", runtime.name, runtime.pid, runtime.host.empty() ? "" : " on ",
                     runtime.host);
}

ToolListener::ToolListener(router::Mirror& mirror, std::string remote, std::string wanted, std::string socket)
    : mirror_(mirror), remote_(std::move(remote)), wanted_(std::move(wanted)), socket_(std::move(socket)) {}

Result<void> ToolListener::begin() {
  if (!wanted_.empty()) {
    std::vector<MirrorRow> fitting = rows();
    std::erase_if(fitting, [&](const MirrorRow& row) { return !names_runtime(wanted_, row.runtime); });
    if (!fitting.empty()) {
      ASSIGN_OR_RETURN(const auto row, mirror_.choose(wanted_, remote_));
      take(row);
      return {};
    }
  } else {
    for (const MirrorRow& row : rows()) {
      if (row.runtime.state == router::RuntimeState::running) running_.insert(row.runtime.id);
    }
    if (const auto row = next_to_start()) {
      take(*row);
      return {};
    }
  }
  print_message(wanted_.empty() ? fmt::format("waiting for the next runtime to start at {}", remote_)
                                : fmt::format("waiting for {} to start at {}", wanted_, remote_));
  return {};
}

void ToolListener::look() {
  if (taken_.empty()) {
    if (const auto row = next_to_start()) take(*row);
    return;
  }
  for (const MirrorRow& row : rows()) {
    if (row.runtime.id != taken_ || row.local_pid == dialled_as_) continue;
    dialled_as_ = row.local_pid;
    std::ignore = mirror_.dial(row, socket_);
  }
}

std::vector<MirrorRow> ToolListener::rows() const {
  return mirror_.rows(remote_);
}

std::optional<MirrorRow> ToolListener::next_to_start() const {
  std::vector<MirrorRow> fitting = rows();
  std::erase_if(fitting, [&](const MirrorRow& row) {
    return running_.contains(row.runtime.id) || (!wanted_.empty() && !names_runtime(wanted_, row.runtime));
  });
  // The one that has waited longest.
  const auto first =
      std::min_element(fitting.begin(), fitting.end(), [](const MirrorRow& a, const MirrorRow& b) {
        return std::tie(a.runtime.since, a.runtime.pid) < std::tie(b.runtime.since, b.runtime.pid);
      });
  if (first == fitting.end()) return std::nullopt;
  return *first;
}

void ToolListener::take(const MirrorRow& row) {
  const Result<void> dialled = mirror_.dial(row, socket_);
  if (!dialled) {
    print_message(dialled.error().message());
    return;
  }
  taken_ = row.runtime.id;
  dialled_as_ = row.local_pid;
  const bool suspended = row.runtime.state == router::RuntimeState::suspended;
  print_message(
      fmt::format("the tool gets {}{}", described(row.runtime), suspended ? ", which is suspended" : ""));
}

/// Adds the remote that a --diagnostic-port names, unless it is known. Returns its name.
Result<std::string> add_remote(const config::RunSettings& settings, const std::string& agent,
                               std::vector<config::RemoteSettings>& remotes) {
  ASSIGN_OR_RETURN(auto remote, settings.resolve_remote(agent));
  const auto known = std::find_if(
      remotes.begin(), remotes.end(),
      [&](const config::RemoteSettings& candidate) { return candidate.addresses == remote.addresses; });
  if (known != remotes.end()) return name_of(*known);
  remotes.push_back(std::move(remote));
  return name_of(remotes.back());
}

/// An unused path in the directory. Tools name their files after it.
std::string free_path(const std::string& directory, std::string_view name) {
  const std::string path = directory + "/" + file_name_for(name);
  std::string free = path;
  for (int number = 2; ::access(free.c_str(), F_OK) == 0; ++number)
    free = path + "-" + std::to_string(number);
  return free;
}

/// Fails if an argument is invalid or no agent is named.
Result<RunPlan> make_run_plan(const config::RunSettings& settings) {
  RunPlan plan{settings.remotes, {}};
  for (ToolTarget& argument : find_targets(settings.tool)) {
    RunTarget target{std::move(argument)};
    if (target.argument.kind == ToolTarget::Kind::diagnostic_port) {
      ASSIGN_OR_RETURN(auto port, parse_remote_port(target.argument.value));
      // The value is an ordinary socket path.
      if (!port) continue;
      ASSIGN_OR_RETURN(auto remote, add_remote(settings, port->agent, plan.remotes));
      target.port = std::move(port);
      target.remote = std::move(remote);
    }
    plan.targets.push_back(std::move(target));
  }
  if (plan.remotes.empty()) {
    return fail("run", settings.tool.front(), "no agent is named",
                "name one before the --, or in the tool's --diagnostic-port HOST:PORT");
  }
  return plan;
}

/// Makes the socket that a tool uses for a remote diagnostic port.
Result<std::string> TargetSockets::diagnostic_port(const RunTarget& target) {
  const RemotePort& port = *target.port;
  if (port.listen) {
    const std::string& name = port.runtime.empty() ? target.remote : port.runtime;
    std::string socket = free_path(directory_, name.substr(0, name.find_first_of(":@")));
    ToolListener listener(mirror_, target.remote, port.runtime, socket);
    RETURN_IF_ERROR(listener.begin());
    listeners_.push_back(std::move(listener));
    return socket;
  }
  ASSIGN_OR_RETURN(const auto row, mirror_.choose(port.runtime, target.remote));
  const std::string link = free_path(directory_, row.runtime.name);
  if (::symlink(row.socket.c_str(), link.c_str()) != 0) return row.socket + ",connect";
  return link + ",connect";
}

/// The argument that makes the tool reach the mirrored runtime instead of the remote one.
Result<std::string> TargetSockets::replacement(const RunTarget& target) {
  if (target.port) return diagnostic_port(target);
  ASSIGN_OR_RETURN(const auto row, mirror_.choose(target.argument.value));
  return std::to_string(row.local_pid);
}

Result<std::vector<std::string>> TargetSockets::rewrite(std::vector<std::string> arguments,
                                                        const std::vector<RunTarget>& targets) {
  for (const RunTarget& target : targets) {
    ASSIGN_OR_RETURN(const auto value, replacement(target));
    std::string prefix = target.argument.prefix;
    if (target.argument.kind == ToolTarget::Kind::name) {
      // A name might match another process on this host; the pid is unambiguous.
      const std::string option = prefix.starts_with("--") || prefix.empty() ? "--process-id" : "-p";
      if (prefix.empty()) {
        arguments[target.argument.argument - 1] = option;
      } else {
        prefix = option + prefix.back();
      }
    }
    arguments[target.argument.argument] = prefix + value;
  }
  return arguments;
}

void TargetSockets::look() {
  for (ToolListener& listener : listeners_) listener.look();
}

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

constexpr transport::Milliseconds kLookForEnd{10};
constexpr transport::Milliseconds kConnectionsEnd{1000};

/// Waits until the tool's connections have ended, which they do soon after it: only then is it known whether
/// one of them was cut off.
Task<void> connections_end(router::Mirror& mirror) {
  const auto is_active = [](const router::MirrorRow& row) { return row.active > 0; };
  for (;;) {
    const std::vector<router::MirrorRow> rows = mirror.rows();
    if (std::none_of(rows.begin(), rows.end(), is_active)) co_return;
    co_await transport::sleep(mirror.loop(), kLookForEnd);
  }
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
  if (code == 0) co_await with_deadline(loop, connections_end(run.mirror), kConnectionsEnd);
  // The tool may have taken cut-off data for complete.
  co_return code == 0 && run.mirror.cut_off() > 0 ? kOwnFailure : code;
}

int run(const config::RunSettings& settings) {
  const auto report = [](const Error& error) {
    cli::report(error);
    return error.what == "start" && error.cause == ENOENT ? kNotFound : kOwnFailure;
  };
  ASSIGN_OR_REPORT(const auto log, settings.log_level_given
                                       ? make_log(settings.log.level, settings.log.format)
                                       : make_notices());
  ASSIGN_OR_REPORT(const auto plan, make_run_plan(settings));
  ASSIGN_OR_REPORT(auto agents, agents_of(plan.remotes));
  ASSIGN_OR_REPORT(const auto directory, make_private_directory());
  transport::Loop loop;
  router::MirrorSettings mirror_settings{std::move(agents), directory->path()};
  mirror_settings.session = session_options(settings.session);
  router::Mirror mirror(loop, log, std::move(mirror_settings));
  const Run running{mirror, directory->path(), plan, settings.log_level_given ? nullptr : log};
  const Result<int> code = loop.run(run_tool(loop, running, settings.tool));
  const Missing missing = mirror.rows().empty() ? Missing::everything : Missing::something;
  std::vector<std::string> explanation;
  if (!code && (missing == Missing::everything || code.error().cause == ESRCH))
    explanation = loop.run(explain_mirror(mirror, missing, true));
  loop.run(mirror.leave());
  if (code) return *code;
  const int failed = report(code.error());
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
