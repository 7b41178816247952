// Going through the processes in /proc, of which there may be very many.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace farport::router {

/// Of another thread's time, in each look at processes.
inline constexpr std::chrono::milliseconds kLookBudget{500};
/// What is read of a mountinfo at most.
inline constexpr std::size_t kMaxMountInfo = 256 * 1024;

/// A round through all processes, in as many calls as it takes.
class ProcessWalk {
 public:
  /// Calls `each` for processes, ascending, from where the last call has ended, for no longer than `budget`.
  /// Returns whether the round is over; never where /proc can't be read.
  [[nodiscard]] bool go_on(std::chrono::milliseconds budget, const std::function<void(pid_t)>& each);

 private:
  pid_t next_ = 0;
};

// Processes that have a default listen port, wherever its socket is: by the kernel's lists of Unix sockets.

/// A process, and the paths under which a socket of its name may be: in its own mount namespace, and bound by
/// whoever likes.
struct PortProcess {
  pid_t pid = 0;
  std::uint64_t start_time = 0;  ///< In clock ticks after boot: with the pid it means one process alone.
  uid_t user = 0;
  std::vector<std::string> paths;
};

/// What a default listen port's name holds: dotnet-diagnostic-{pid}-{start time}-socket, the pid being the
/// process's own in its pid namespace.
struct PortName {
  std::uint64_t pid = 0;
  std::uint64_t start_time = 0;
  auto operator<=>(const PortName&) const = default;
};

/// The name itself.
[[nodiscard]] std::string to_string(const PortName& name);

/// The paths at which sockets of these names are bound.
using BoundPaths = std::map<PortName, std::vector<std::string>>;

/// Looks through /proc. Goes by what any process may read of any other one, and what none can hold up.
class PortProcesses {
 public:
  /// Those that are there, as far as a look of limited time has seen; the next one goes on where it has
  /// ended.
  [[nodiscard]] std::vector<PortProcess> look();
  /// Whether the last look has seen any process but this one.
  [[nodiscard]] bool sees_others() const { return known_.size() > 1; }

 private:
  struct Known {
    PortName name;
    ino_t network = 0;  ///< Tells the network namespaces apart.
    std::uint64_t round = 0;
  };
  void note(pid_t pid);
  [[nodiscard]] BoundPaths bound_paths() const;

  std::map<pid_t, Known> known_;
  std::uint64_t round_ = 0;
  ProcessWalk walk_;
};

/// Adds to `bound` what the text of /proc/PID/net/unix says about the names in `wanted`, which are sorted: a
/// few paths of each, and of all of them no more than there is room for.
void add_bound_paths(std::string_view net_unix, const std::vector<PortName>& wanted, BoundPaths& bound);

}  // namespace farport::router
