// farport run: a tool with a private mirror.
#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/log.hpp"
#include "cli/commands.hpp"
#include "cli/private_directory.hpp"
#include "cli/remotes.hpp"
#include "cli/session_options.hpp"
#include "cli/tool_arguments.hpp"
#include "cli/tool_process.hpp"
#include "transport/signals.hpp"
#include "transport/timer.hpp"

namespace farport::cli {
namespace {

using transport::Task;

constexpr transport::Milliseconds kSettleLimit{20'000};
constexpr int kNotFound = 127;
constexpr int kOwnFailure = 125;
constexpr int kKilledBySignal = 128;

/// The remotes that are named before "--" and those in the tool's own arguments, each once.
Result<std::vector<config::RemoteSettings>> all_remotes(const config::RunSettings& settings,
                                                        const std::vector<ToolTarget>& targets) {
  std::vector<config::RemoteSettings> remotes = settings.remotes;
  for (const ToolTarget& target : targets) {
    if (target.kind != ToolTarget::Kind::diagnostic_port) continue;
    const auto port = parse_remote_port(target.value);
    if (!port) return tl::unexpected(port.error());
    if (!*port) continue;
    auto remote = settings.resolve_remote((*port)->agent);
    if (!remote) return tl::unexpected(remote.error());
    const auto same = [&](const config::RemoteSettings& known) {
      return known.addresses == remote->addresses;
    };
    if (std::none_of(remotes.begin(), remotes.end(), same)) remotes.push_back(std::move(*remote));
  }
  if (remotes.empty()) {
    return fail("run", settings.tool.front(), "no agent is named",
                "name one before the --, or in the tool's --diagnostic-port HOST:PORT");
  }
  return remotes;
}

/// Where a tool listens that is to be dialled.
std::string listening_socket(const PrivateDirectory& directory, const ToolTarget& target) {
  return directory.path() + "/listen-" + std::to_string(target.argument) + ".sock";
}

/// The tools' sockets that remote runtimes are to dial.
Result<std::vector<router::NamedSocket>> listening_tools(const PrivateDirectory& directory,
                                                         const std::vector<ToolTarget>& targets) {
  std::vector<router::NamedSocket> tools;
  for (const ToolTarget& target : targets) {
    if (target.kind != ToolTarget::Kind::diagnostic_port) continue;
    const auto port = parse_remote_port(target.value);
    if (!port) return tl::unexpected(port.error());
    if (*port && (*port)->listen) tools.push_back({(*port)->runtime, listening_socket(directory, target)});
  }
  return tools;
}

/// The argument that reaches the mirrored runtime instead of the remote one.
Result<std::string> replacement(const router::Mirror& mirror, const PrivateDirectory& directory,
                                const ToolTarget& target) {
  std::string wanted = target.value;
  if (target.kind == ToolTarget::Kind::diagnostic_port) {
    const auto port = parse_remote_port(target.value);
    if (!port) return tl::unexpected(port.error());
    if (!*port) return target.prefix + target.value;
    if ((*port)->listen) return target.prefix + listening_socket(directory, target);
    wanted = (*port)->runtime;
  }
  const auto row = mirror.choose(wanted);
  if (!row) return tl::unexpected(row.error());
  if (target.kind == ToolTarget::Kind::diagnostic_port) return target.prefix + row->socket + ",connect";
  return target.prefix + std::to_string(row->local_pid);
}

Result<std::vector<std::string>> rewrite(const router::Mirror& mirror, const PrivateDirectory& directory,
                                         std::vector<std::string> arguments,
                                         const std::vector<ToolTarget>& targets) {
  for (const ToolTarget& target : targets) {
    auto value = replacement(mirror, directory, target);
    if (!value) return tl::unexpected(value.error());
    if (target.kind == ToolTarget::Kind::name) {
      // By name the tool might find another process of this host: the pid is sure.
      const std::string option =
          target.prefix.starts_with("--") || target.prefix.empty() ? "--process-id" : "-p";
      if (target.prefix.empty()) {
        arguments[target.argument - 1] = option;
      } else {
        value = option + target.prefix.back() + value->substr(target.prefix.size());
      }
    }
    arguments[target.argument] = *value;
  }
  return arguments;
}

Task<Result<int>> run_tool(transport::Loop& loop, router::Mirror& mirror, const PrivateDirectory& directory,
                           std::vector<std::string> tool, std::vector<ToolTarget> targets) {
  const Result<void> started = co_await mirror.start();
  if (!started) co_return tl::unexpected(started.error());
  {
    int interrupted = 0;
    const transport::SignalWatch early(loop, {SIGINT, SIGQUIT, SIGTERM, SIGHUP}, [&](int number) {
      interrupted = number;
      mirror.stop_settling();
    });
    const transport::Deadline limit(loop, kSettleLimit, [&mirror] { mirror.stop_settling(); });
    const Result<void> settled = co_await mirror.settled();
    if (interrupted != 0) co_return kKilledBySignal + interrupted;
    if (!settled) co_return tl::unexpected(settled.error());
  }
  auto arguments = rewrite(mirror, directory, std::move(tool), targets);
  if (!arguments) co_return tl::unexpected(arguments.error());
  auto process = ToolProcess::start(loop, std::move(*arguments), directory.path());
  if (!process) co_return tl::unexpected(process.error());
  ToolProcess& running = **process;
  // The terminal sends Ctrl-C to both: the tool decides what it means. Others reach only us.
  const transport::SignalWatch terminal(loop, {SIGINT, SIGQUIT}, [](int) {});
  const transport::SignalWatch others(loop, {SIGTERM, SIGHUP},
                                      [&running](int number) { running.signal(number); });
  const int code = co_await running.wait();
  co_return code;
}

}  // namespace

int run(const config::RunSettings& settings) {
  const auto fatal = [](const Error& error) {
    report(error);
    return error.what == "start" && error.code == ENOENT ? kNotFound : kOwnFailure;
  };
  const auto log = make_log(settings.log.level, settings.log.format);
  if (!log) return fatal(log.error());
  const std::vector<ToolTarget> targets = find_targets(settings.tool);
  const auto remotes = all_remotes(settings, targets);
  if (!remotes) return fatal(remotes.error());
  auto agents = agents_of(*remotes);
  if (!agents) return fatal(agents.error());
  const auto directory = PrivateDirectory::make();
  if (!directory) return fatal(directory.error());
  auto tools = listening_tools(**directory, targets);
  if (!tools) return fatal(tools.error());
  transport::Loop loop;
  router::MirrorSettings mirror_settings{std::move(*agents), (*directory)->path()};
  mirror_settings.tools = std::move(*tools);
  mirror_settings.session = session_options(settings.session);
  router::Mirror mirror(loop, *log, std::move(mirror_settings));
  const Result<int> code = loop.run(run_tool(loop, mirror, **directory, settings.tool, targets));
  loop.run(mirror.leave());
  return code ? *code : fatal(code.error());
}

}  // namespace farport::cli
