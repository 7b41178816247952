// What a tool's arguments name for `farport run`, and what stands there instead once it is mirrored.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/commands/tool_arguments.hpp"
#include "config/settings.hpp"
#include "router/mirror/mirror.hpp"

namespace farport::cli {

/// A tool of `farport run` that listens (--diagnostic-port HOST:PORT,listen), and the runtime that it gets.
/// Gives the tool one runtime of a remote: the one that is named, otherwise the next one that starts, or one
/// that is suspended. Says on standard error what it waits for, and which one it took.
class ToolListener {
 public:
  /// `remote`: as the mirror's rows name it. `wanted`: a name, pid or id; empty: any. `socket`: where the
  /// tool listens.
  ToolListener(router::Mirror& mirror, std::string remote, std::string wanted, std::string socket);

  /// To be called when the mirror has listed what is there. Errors: several runtimes fit what is wanted.
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
  std::set<std::string> running_;  ///< Ids of those that ran already.
  std::string taken_;              ///< Its id; empty: none yet.
  pid_t dialled_as_ = 0;           ///< Its placeholder's pid: another placeholder has to dial anew.
};

/// An argument of the tool that names a remote runtime.
struct RunTarget {
  ToolTarget argument;
  std::optional<RemotePort> port{};  ///< Of a --diagnostic-port.
  std::string remote{};              ///< That port's agent, as the mirror's rows name it.
};

/// What a run works with.
struct RunPlan {
  std::vector<config::RemoteSettings> remotes;  ///< Those before "--" and those in the tool's arguments.
  std::vector<RunTarget> targets;
};

/// Errors: an argument makes no sense, or no agent is named.
[[nodiscard]] Result<RunPlan> make_run_plan(const config::RunSettings& settings);

/// The sockets that a tool is given for its targets.
class TargetSockets {
 public:
  /// `directory`: for the sockets and links that are made; a private one. Both must outlive this.
  TargetSockets(router::Mirror& mirror, const std::string& directory)
      : mirror_(mirror), directory_(directory) {}

  /// The tool's arguments, with what reaches the mirrored runtimes instead of the remote ones. Errors: no
  /// runtime fits a target, or several do.
  Result<std::vector<std::string>> rewrite(std::vector<std::string> arguments,
                                           const std::vector<RunTarget>& targets);
  /// Offers tools that listen what the mirror has got since.
  void look();

 private:
  Result<std::string> diagnostic_port(const RunTarget& target);
  Result<std::string> replacement(const RunTarget& target);

  router::Mirror& mirror_;
  const std::string& directory_;
  std::vector<ToolListener> listeners_;
};

}  // namespace farport::cli
