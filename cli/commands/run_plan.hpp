// RunPlan: the remote runtimes in the arguments of `farport run`'s tool, and what replaces them.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/commands/tool_arguments.hpp"
#include "config/settings.hpp"
#include "router/mirror/mirror.hpp"

namespace farport::cli {

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
  [[nodiscard]] std::vector<router::MirrorRow> rows() const;
  [[nodiscard]] std::optional<router::MirrorRow> next_to_start() const;
  void take(const router::MirrorRow& row);

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

/// Fails if an argument is invalid or no agent is named.
[[nodiscard]] Result<RunPlan> make_run_plan(const config::RunSettings& settings);

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

}  // namespace farport::cli
