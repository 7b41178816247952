// Asking a runtime who it is.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "ipc/message.hpp"
#include "router/wire/runtime.hpp"
#include "transport/socket.hpp"

namespace farport::router {

// DiagnosticPort: one way to reach a runtime, whichever side dialled.

class DiagnosticPort {
 public:
  using Connection = Result<std::unique_ptr<transport::FdStream>>;

  /// A connection for one whole message and what follows it. The runtime may end meanwhile: the task does not
  /// need this object any more once it has been made.
  virtual transport::Task<Connection> open() = 0;

  /// Who is at the other end: the pid is 0 where the process isn't visible here.
  [[nodiscard]] virtual transport::PeerCredentials process() const = 0;
  /// When that process began (base/process_stat.hpp), as it was while it was known for sure to be the one:
  /// with the pid it means no other process, ever. 0 where it isn't visible here.
  [[nodiscard]] virtual std::uint64_t process_start() const { return 0; }
  /// Where the socket is, for people, and for files that are shared with the runtime.
  [[nodiscard]] virtual const std::string& path() const = 0;

 protected:
  ~DiagnosticPort() = default;
};

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

// Telling a suspended runtime from a running one.
//
// No command says it. Until the application's code runs, a runtime's command line is its program alone: the
// host adds the arguments later. So does a runtime that is just starting. What it waits for stands in its
// environment: each port that suspends must be sent ResumeRuntime, on that very port.

/// Whether anything follows the command line's first word, which stands in quotes if it holds spaces.
[[nodiscard]] bool has_arguments(std::string_view command_line);

/// How many diagnostic ports a runtime with this environment ("NAME=value" each) waits for before it runs the
/// application: those of DOTNET_DiagnosticPorts that don't say nosuspend, and the default port where
/// DOTNET_DefaultDiagnosticPortSuspend says so; or their COMPlus_ forms.
[[nodiscard]] int count_suspending_ports(const std::vector<std::string>& environment);

/// The same of a living runtime, by ProcessEnvironment, which suspended runtimes answer too.
transport::Task<Result<int>> count_suspending_ports(OpenPort open, std::string where);

/// Asks a runtime that has just been found who it is, as probe() does: at once where it is suspended,
/// otherwise when its start is over, so that its whole command line is known.
transport::Task<Result<Runtime>> introduce(transport::Loop& loop, OpenPort open, std::string where,
                                           std::unique_ptr<transport::FdStream> first);

}  // namespace farport::router
