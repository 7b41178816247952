// DiagnosticPort: one way to reach a runtime, whichever side dialled.
#pragma once

#include <memory>
#include <string>

#include "base/error.hpp"
#include "transport/socket.hpp"

namespace farport::router {

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

}  // namespace farport::router
