// DiagnosticPort: one way to reach a runtime; and how to ask a runtime who it is.
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

/// One way to reach a runtime, whichever side has dialled.
class DiagnosticPort {
 public:
  using Connection = Result<std::unique_ptr<transport::FdStream>>;

  /// Opens a connection for one message and what follows it. Once it is made, the task does not use this
  /// object any more, since the runtime may end meanwhile.
  virtual transport::Task<Connection> open() = 0;

  /// The process at the other end. Its pid is 0 if it isn't visible here.
  [[nodiscard]] virtual transport::PeerCredentials process() const = 0;
  /// The start time of that process (base/process_stat.hpp), read while it was certainly the right one.
  /// Together with the pid it identifies the process for good. 0 if the process isn't visible here.
  [[nodiscard]] virtual std::uint64_t process_start() const { return 0; }
  /// The path of the socket, for messages, and for finding files that are shared with the runtime.
  [[nodiscard]] virtual const std::string& path() const = 0;

 protected:
  ~DiagnosticPort() = default;
};

/// Opens a connection to a runtime. Each connection carries one command.
using OpenPort = std::function<transport::Task<DiagnosticPort::Connection>()>;

/// Sends one command and reads the answer, within kProbeLimit. Leaves what follows the answer in the
/// connection. Errors: no answer in time, or a malformed one.
transport::Task<Result<ipc::Message>> ask(transport::FdStream& connection, ipc::Message command);

/// Sends ProcessInfo3 and reads the answer. If the runtime doesn't know it, tries ProcessInfo2, then
/// ProcessInfo. Sends each command whole, since half of one would block the runtime's diagnostics. The first
/// goes to `first` if that is set. `where` names the socket in errors. Errors: opening failed (`cause` is the
/// errno value), or the runtime doesn't answer, or its answer is malformed.
transport::Task<Result<Runtime>> probe(OpenPort open, std::string where,
                                       std::unique_ptr<transport::FdStream> first);

/// Describes a runtime that does not say who it is by what the kernel knows of its process. Its id is made of
/// the pid and the start time (DiagnosticPort::process_start()), and so stays the same while it lives.
transport::Task<Runtime> runtime_by_process(transport::Loop& loop, pid_t pid, std::uint64_t start);

/// How long a runtime may take to answer a probe.
inline constexpr transport::Milliseconds kProbeLimit{5000};

// Telling a suspended runtime from a running one.
//
// No command tells. The command line of a CoreCLR runtime is its program alone until the application's code
// runs, since the host adds the arguments later; that of a single-file or NativeAOT application may stay so.
// The environment says which ports suspend it: each must be sent ResumeRuntime, on that very port. Whether
// that has happened is told by a session: it begins when the runtime runs, and not before.

/// Whether anything follows the first word of the command line, which is quoted if it contains spaces.
[[nodiscard]] bool has_arguments(std::string_view command_line);

/// The number of diagnostic ports that suspend a runtime with this environment ("NAME=value" each). These are
/// the ports in DOTNET_DiagnosticPorts without nosuspend, and the default port if
/// DOTNET_DefaultDiagnosticPortSuspend says so. The COMPlus_ forms count as well.
[[nodiscard]] int count_suspending_ports(const std::vector<std::string>& environment);

/// The same for a living runtime, by ProcessEnvironment, which suspended runtimes answer too.
transport::Task<Result<int>> count_suspending_ports(OpenPort open, std::string where);

/// Waits until the runtime runs, for as long as it is suspended: begins a session without providers, whose
/// header comes at once or when the runtime is resumed, and stops it then. Such a session may be left to a
/// suspended runtime. (Measured with .NET 8, 9 and 10 and NativeAOT of each: 216 starts, none was harmed. One
/// that has providers and is stopped while the runtime is suspended ends the application when it is resumed.)
/// Errors: the runtime can't be reached, refuses the session, or ends it.
transport::Task<Result<void>> until_it_runs(OpenPort open, std::string where);

/// Asks a runtime that runs since a moment again who it is, until its command line has arguments, for a
/// second at most: a command line that has none then is believed.
transport::Task<Result<Runtime>> once_started(transport::Loop& loop, OpenPort open, std::string where,
                                              Runtime runtime);

/// Asks a new runtime who it is, like probe(). Returns soon if it is suspended, otherwise when it has
/// started, so that its whole command line is known.
transport::Task<Result<Runtime>> introduce(transport::Loop& loop, OpenPort open, std::string where,
                                           std::unique_ptr<transport::FdStream> first);

}  // namespace farport::router
