// Asking a runtime who it is.
#pragma once

#include <functional>

#include "ipc/message.hpp"
#include "router/agent/runtimes/diagnostic_port.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {

/// Opens a connection to a runtime: each carries one command.
using OpenPort = std::function<transport::Task<DiagnosticPort::Connection>()>;

/// Sends one command and reads the answer, within kProbeLimit. What follows the answer is left in the
/// connection. Errors: no answer in time, or nonsense.
transport::Task<Result<ipc::Message>> ask(transport::FdStream& connection, ipc::Message command);

/// Sends ProcessInfo3 and reads the answer; where the runtime doesn't know that, ProcessInfo2, then
/// ProcessInfo. A whole command is sent at once, since half of one would block the runtime's diagnostics.
/// The first goes to `first` if there is one. `where` names the runtime's socket in errors: what opening gave
/// (`cause` is the errno value), or a runtime that doesn't answer, or answers nonsense.
transport::Task<Result<Runtime>> probe(OpenPort open, std::string where,
                                       std::unique_ptr<transport::FdStream> first);

/// A runtime by what the kernel knows of its process, for one that does not say itself who it is: its id is
/// made of the pid and the start (DiagnosticPort::process_start()), and so stays the same while it lives.
transport::Task<Runtime> runtime_by_process(transport::Loop& loop, pid_t pid, std::uint64_t start);

/// How long a runtime may take to answer a probe.
inline constexpr transport::Milliseconds kProbeLimit{5000};

}  // namespace farport::router
