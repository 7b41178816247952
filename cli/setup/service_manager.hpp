// ServiceManager: talks to systemd, or whatever service manager speaks its protocol.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "transport/loop.hpp"
#include "transport/task.hpp"
#include "transport/timer.hpp"

namespace farport::cli {

/// Reports the service's state (sd_notify(3)). Does nothing if no manager has started the process.
class ServiceManager {
 public:
  /// Reads $NOTIFY_SOCKET and $WATCHDOG_USEC and removes them from the environment, since they are for this
  /// process only. Make it before the process gives anything up.
  ServiceManager();

  /// The service is ready, at start or after reloading().
  void ready() const { tell("READY=1"); }
  /// The service reads its files again, until ready().
  void reloading() const;
  void stopping() const { tell("STOPPING=1"); }
  /// Sends watchdog messages twice as often as required, until it is cancelled.
  transport::Task<void> stay_alive(transport::Loop& loop) const;

 private:
  void tell(std::string_view state) const;

  UniqueFd socket_;
  std::optional<transport::Milliseconds> watchdog_;
};

/// The listening sockets passed by the manager (sd_listen_fds(3)), which the caller then owns. Call it once.
/// Fails if there are none, or if one is not a listening stream socket.
[[nodiscard]] Result<std::vector<UniqueFd>> inherited_sockets();

}  // namespace farport::cli
