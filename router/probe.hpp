// Asking a runtime who it is.
#pragma once

#include "router/runtime.hpp"
#include "transport/socket.hpp"

namespace farport::router {

/// Sends ProcessInfo3 on a fresh connection to `socket_path` and reads the answer; where the runtime doesn't
/// know that, ProcessInfo2, then ProcessInfo. A whole command is sent at once, since half of one would block
/// the runtime's diagnostics. Errors: what connecting gave (`code` is the errno value), or a runtime that
/// doesn't answer, or answers nonsense.
transport::Task<Result<Runtime>> probe(transport::Loop& loop, std::string socket_path);

/// The same, with the first command on a connection that is open already.
transport::Task<Result<Runtime>> probe(std::unique_ptr<transport::FdStream> connection,
                                       std::string socket_path);

/// How long a runtime may take to answer a probe.
inline constexpr transport::Milliseconds kProbeLimit{5000};

}  // namespace farport::router
