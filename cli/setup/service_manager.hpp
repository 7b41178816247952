// The service manager that has started this process: systemd, or whoever speaks its protocol.
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

/// Tells it how the service does (sd_notify(3)). Without one, all of this does nothing.
class ServiceManager {
 public:
  /// By $NOTIFY_SOCKET and $WATCHDOG_USEC, which are ours alone: they are taken out of the environment. Made
  /// before the process gives anything up.
  ServiceManager();

  /// It serves: also after reloading().
  void ready() const { tell("READY=1"); }
  /// It reads its files again, until ready().
  void reloading() const;
  void stopping() const { tell("STOPPING=1"); }
  /// Says that the loop goes round, twice as often as the watchdog wants to hear it, until it is cancelled.
  transport::Task<void> stay_alive(transport::Loop& loop) const;

 private:
  void tell(std::string_view state) const;

  UniqueFd socket_;
  std::optional<transport::Milliseconds> watchdog_;
};

/// The sockets that it has made for us (sd_listen_fds(3)), which listen. Once: they are the caller's then.
/// Errors: there are none, or one of them is no listening stream socket.
[[nodiscard]] Result<std::vector<UniqueFd>> inherited_sockets();

}  // namespace farport::cli
