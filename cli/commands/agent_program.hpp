// AgentProgram: runs the agent as a process, from its settings to its end.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "config/settings.hpp"

namespace farport::cli {

/// How one use of the agent differs from another, beside its settings.
struct AgentProgram {
  /// Reports why it can't start. Returns the exit code that it was given.
  std::function<int(const Error&, int)> fatal;
  /// Called once it listens and has logged its start; may be empty.
  std::function<void()> on_listening{};
  /// How long after its last session it ends by itself; empty: never. Such an agent is for its own user only.
  std::optional<config::Milliseconds> linger{};
  /// Whether to log processes that it can't reach, which are usually other users'.
  bool tell_of_others = true;
};

/// The system's host name; in a pod, the pod's name. Empty if it can't be had.
[[nodiscard]] std::string own_host_name();

/// Runs an agent until it is stopped or ends by itself. Returns the exit code.
int run_agent(const config::ServeSettings& settings, const Log& log, const AgentProgram& program);

}  // namespace farport::cli
