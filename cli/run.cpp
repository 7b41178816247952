// farport run: a tool with a private mirror.
#include <algorithm>
#include <cerrno>
#include <csignal>

#include <unistd.h>

#include "base/file_name.hpp"
#include "base/notices.hpp"
#include "cli/commands.hpp"
#include "cli/explain.hpp"
#include "cli/private_directory.hpp"
#include "cli/remotes.hpp"
#include "cli/session_options.hpp"
#include "cli/tool_arguments.hpp"
#include "cli/tool_listener.hpp"
#include "cli/tool_process.hpp"
#include "transport/signals.hpp"
#include "transport/timer.hpp"

namespace farport::cli {
namespace {

using transport::Task;

constexpr int kNotFound = 127;
constexpr int kOwnFailure = 125;

/// An argument of the tool that names a remote runtime.
struct Target {
  ToolTarget argument;
  std::optional<RemotePort> port{};  ///< Of a --diagnostic-port.
  std::string remote{};              ///< That port's agent, as the mirror's rows name it.
};

/// What a run works with.
struct Plan {
  std::vector<config::RemoteSettings>
      remotes;  ///< Those named before "--" and those in the tool's arguments.
  std::vector<Target> targets;
};

/// Adds the remote that a --diagnostic-port names, unless it is there already: its name.
Result<std::string> add_remote(const config::RunSettings& settings, const std::string& agent,
                               std::vector<config::RemoteSettings>& remotes) {
  auto remote = settings.resolve_remote(agent);
  if (!remote) return tl::unexpected(remote.error());
  const auto known = std::find_if(
      remotes.begin(), remotes.end(),
      [&](const config::RemoteSettings& candidate) { return candidate.addresses == remote->addresses; });
  if (known != remotes.end()) return name_of(*known);
  remotes.push_back(std::move(*remote));
  return name_of(remotes.back());
}

Result<Plan> make_plan(const config::RunSettings& settings) {
  Plan plan{settings.remotes, {}};
  for (ToolTarget& argument : find_targets(settings.tool)) {
    Target target{std::move(argument)};
    if (target.argument.kind == ToolTarget::Kind::diagnostic_port) {
      auto port = parse_remote_port(target.argument.value);
      if (!port) return tl::unexpected(port.error());
      // An ordinary socket's path.
      if (!*port) continue;
      auto remote = add_remote(settings, (*port)->agent, plan.remotes);
      if (!remote) return tl::unexpected(remote.error());
      target.port = std::move(*port);
      target.remote = std::move(*remote);
    }
    plan.targets.push_back(std::move(target));
  }
  if (plan.remotes.empty()) {
    return fail("run", settings.tool.front(), "no agent is named",
                "name one before the --, or in the tool's --diagnostic-port HOST:PORT");
  }
  return plan;
}

/// A path in the directory that nothing has yet. Tools name their files after it.
std::string free_path(const std::string& directory, std::string_view name) {
  const std::string path = directory + "/" + file_name_for(name);
  std::string free = path;
  for (int number = 2; ::access(free.c_str(), F_OK) == 0; ++number)
    free = path + "-" + std::to_string(number);
  return free;
}

/// A run under way.
struct Run {
  router::Mirror& mirror;
  const std::string& directory;
  std::vector<ToolListener> listeners{};

  Result<std::string> diagnostic_port(const Target& target);
  Result<std::string> replacement(const Target& target);
  Result<std::vector<std::string>> rewrite(std::vector<std::string> arguments,
                                           const std::vector<Target>& targets);
};

/// The socket that a tool is given for a remote diagnostic port.
Result<std::string> Run::diagnostic_port(const Target& target) {
  const RemotePort& port = *target.port;
  if (port.listen) {
    const std::string& name = port.runtime.empty() ? target.remote : port.runtime;
    std::string socket = free_path(directory, name.substr(0, name.find_first_of(":@")));
    ToolListener listener(mirror, target.remote, port.runtime, socket);
    const Result<void> begun = listener.begin();
    if (!begun) return tl::unexpected(begun.error());
    listeners.push_back(std::move(listener));
    return socket;
  }
  const auto row = mirror.choose(port.runtime, target.remote);
  if (!row) return tl::unexpected(row.error());
  const std::string link = free_path(directory, row->runtime.name);
  if (::symlink(row->socket.c_str(), link.c_str()) != 0) return row->socket + ",connect";
  return link + ",connect";
}

/// The argument that reaches the mirrored runtime instead of the remote one.
Result<std::string> Run::replacement(const Target& target) {
  if (target.port) return diagnostic_port(target);
  const auto row = mirror.choose(target.argument.value);
  if (!row) return tl::unexpected(row.error());
  return std::to_string(row->local_pid);
}

Result<std::vector<std::string>> Run::rewrite(std::vector<std::string> arguments,
                                              const std::vector<Target>& targets) {
  for (const Target& target : targets) {
    const auto value = replacement(target);
    if (!value) return tl::unexpected(value.error());
    std::string prefix = target.argument.prefix;
    if (target.argument.kind == ToolTarget::Kind::name) {
      // By name the tool might find another process of this host: the pid is sure.
      const std::string option = prefix.starts_with("--") || prefix.empty() ? "--process-id" : "-p";
      if (prefix.empty()) {
        arguments[target.argument.argument - 1] = option;
      } else {
        prefix = option + prefix.back();
      }
    }
    arguments[target.argument.argument] = prefix + *value;
  }
  return arguments;
}

/// Says which agents there are no runtimes of, beside others that are there.
void report_missing(const router::Mirror& mirror) {
  for (const router::LinkRow& link : mirror.links()) {
    if (!link.connected && !link.last_error.empty()) {
      report(Error{"reach", link.agent, link.last_error, {}, 0});
    }
  }
}

Task<void> follow(Run& run) {
  for (;;) {
    co_await run.mirror.changed().wait();
    for (ToolListener& listener : run.listeners) listener.look();
  }
}

/// Waits until the agents have listed their runtimes. The code to end with where a signal came instead.
Task<Result<std::optional<int>>> settle(transport::Loop& loop, router::Mirror& mirror) {
  const Result<void> started = co_await mirror.start();
  if (!started) co_return tl::unexpected(started.error());
  int interrupted = 0;
  const transport::SignalWatch early(loop, {SIGINT, SIGQUIT, SIGTERM, SIGHUP}, [&](int number) {
    interrupted = number;
    mirror.stop_settling();
  });
  const transport::Deadline limit(loop, router::kSettleLimit, [&mirror] { mirror.stop_settling(); });
  const Result<void> settled = co_await mirror.settled();
  if (interrupted != 0) co_return std::optional<int>(kKilledBySignal + interrupted);
  if (!settled) co_return tl::unexpected(settled.error());
  co_return std::optional<int>();
}

/// `notices`: the log, where it is all that farport says; otherwise null.
Task<Result<int>> run_tool(transport::Loop& loop, Run& run, Log notices, std::vector<std::string> tool,
                           const std::vector<Target>& targets) {
  const auto ended = co_await settle(loop, run.mirror);
  if (!ended) co_return tl::unexpected(ended.error());
  if (*ended) co_return **ended;
  report_missing(run.mirror);
  auto arguments = run.rewrite(std::move(tool), targets);
  if (!arguments) co_return tl::unexpected(arguments.error());
  // What is missing has been said: from here on, what changes.
  if (notices != nullptr) notices->set_level(LogLevel::warn);
  // Before the tool runs: a signal may come as soon as it does. The terminal sends Ctrl-C to both, and the
  // tool decides what it means; others reach only us.
  ToolProcess* running = nullptr;
  const transport::SignalWatch terminal(loop, {SIGINT, SIGQUIT}, [](int) {});
  const transport::SignalWatch others(loop, {SIGTERM, SIGHUP}, [&running](int number) {
    if (running != nullptr) running->signal(number);
  });
  auto process = ToolProcess::start(loop, std::move(*arguments), run.directory);
  if (!process) co_return tl::unexpected(process.error());
  running = process->get();
  Task<void> following = follow(run);
  following.start();
  const int code = co_await running->wait();
  // A tool may take what was cut off for whole.
  co_return code == 0 && run.mirror.cut_off() > 0 ? kOwnFailure : code;
}

}  // namespace

int run(const config::RunSettings& settings) {
  const auto fatal = [](const Error& error) {
    report(error);
    return error.what == "start" && error.cause == ENOENT ? kNotFound : kOwnFailure;
  };
  const Result<Log> log =
      settings.log_level_given ? make_log(settings.log.level, settings.log.format) : make_notices();
  if (!log) return fatal(log.error());
  const auto plan = make_plan(settings);
  if (!plan) return fatal(plan.error());
  auto agents = agents_of(plan->remotes);
  if (!agents) return fatal(agents.error());
  const auto directory = make_private_directory();
  if (!directory) return fatal(directory.error());
  transport::Loop loop;
  router::MirrorSettings mirror_settings{std::move(*agents), (*directory)->path()};
  mirror_settings.session = session_options(settings.session);
  const std::vector<router::MirroredAgent> asked = mirror_settings.agents;
  router::Mirror mirror(loop, *log, std::move(mirror_settings));
  Run running{mirror, (*directory)->path()};
  const Result<int> code = loop.run(
      run_tool(loop, running, settings.log_level_given ? nullptr : *log, settings.tool, plan->targets));
  const Missing missing = mirror.rows().empty() ? Missing::everything : Missing::something;
  loop.run(mirror.leave());
  if (code) return *code;
  const int failed = fatal(code.error());
  if (missing == Missing::everything || code.error().cause == ESRCH)
    loop.run(print_explanation(loop, asked, missing));
  return failed;
}

}  // namespace farport::cli
