// AgentProgram: runs the agent as a process, from its settings to its end.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/unique_fd.hpp"
#include "config/settings.hpp"
#include "transport/loop.hpp"
#include "transport/task.hpp"
#include "transport/timer.hpp"

namespace farport::cli {

// ServiceManager: talks to systemd, or whatever service manager speaks its protocol.

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
