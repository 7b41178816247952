// What a tool's arguments name for `farport run`, and what stands there instead once it is mirrored.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/commands/tool_arguments.hpp"
#include "cli/commands/tool_listener.hpp"
#include "config/settings.hpp"

namespace farport::cli {

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
