// The process that starts a command of the operator's, gives it its input and waits for its end.
#pragma once

#include <cstdint>

#include "base/unique_fd.hpp"
#include "router/agent/commands/operator_command.hpp"

namespace farport::router {

/// What a result begins with; the texts follow.
struct CommandResultHead {
  std::int32_t exit_code = 0;
  std::int32_t signal = 0;     ///< That has killed it; 0: none.
  std::uint32_t read_all = 0;  ///< 0 or 1.
  std::uint32_t output = 0;    ///< The size of the standard output, in bytes.
  std::uint32_t messages = 0;  ///< The same of standard error.
};

/// Runs a command for the agent, which holds the other end of `agent`, a stream socket. Its bytes are the
/// command's input, which ends when the agent has finished writing. If the agent closes the socket instead,
/// or is killed, the command sees no end: it is killed with all that it has started, so that it can't take a
/// part for the whole. When the command has ended, the socket gets its result.
void supervise_command(const OperatorCommand& command, const CommandVariables& variables, UniqueFd agent);

}  // namespace farport::router
