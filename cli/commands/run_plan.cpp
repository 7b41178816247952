#include "cli/commands/run_plan.hpp"

#include <algorithm>
#include <cstdio>
#include <tuple>

#include <fmt/core.h>
#include <unistd.h>

#include "base/escape.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/terminal/table.hpp"
#include "router/wire/runtime.hpp"

namespace farport::cli {
namespace {

using router::MirrorRow;

void say(const std::string& text) {
  print_message(text);
}

std::string described(const router::Runtime& runtime) {
  return fmt::format("{} (pid {}{}{})", runtime.name, runtime.pid, runtime.host.empty() ? "" : " on ",
                     runtime.host);
}

}  // namespace

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
  say(wanted_.empty() ? fmt::format("waiting for the next runtime to start at {}", remote_)
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
    say(dialled.error().message());
    return;
  }
  taken_ = row.runtime.id;
  dialled_as_ = row.local_pid;
  const bool suspended = row.runtime.state == router::RuntimeState::suspended;
  say(fmt::format("the tool gets {}{}", described(row.runtime), suspended ? ", which is suspended" : ""));
}

namespace {

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

}  // namespace

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

}  // namespace farport::cli
