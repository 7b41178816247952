// The agent as a process: from its settings to its end.
#pragma once

#include <functional>
#include <optional>

#include "base/log.hpp"
#include "config/settings.hpp"

namespace farport::cli {

/// What tells one agent from another beside its settings.
struct AgentProgram {
  /// Says why it can't start, and returns the exit code that it is given.
  std::function<int(const Error&, int)> fatal;
  /// Called once it listens, and has told of its start; may be empty.
  std::function<void()> on_listening{};
  /// How long after its last session it ends by itself; nothing: it doesn't. One that does is for its own
  /// user alone.
  std::optional<config::Milliseconds> linger{};
  /// Whether its log tells of processes that it can't reach, which mostly are other users'.
  bool tell_of_others = true;
};

/// Runs an agent until it is stopped or ends by itself; returns the exit code.
int run_agent(const config::ServeSettings& settings, const Log& log, const AgentProgram& program);

}  // namespace farport::cli
