// Walks through the processes in /proc, and finds those that have a default listen port.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace farport::router {

/// How long one look at processes may take, on another thread.
inline constexpr std::chrono::milliseconds kLookBudget{500};
/// How much of a mountinfo file is read at most.
inline constexpr std::size_t kMaxMountInfo = 256 * 1024;

/// Visits all processes, in as many calls as it takes.
class ProcessWalk {
 public:
  /// Calls `each` for processes in ascending order, from where the last call has ended, for at most `budget`.
  /// Returns whether the round is complete; always false if /proc can't be read.
  [[nodiscard]] bool go_on(std::chrono::milliseconds budget, const std::function<void(pid_t)>& each);
  /// Whether the next call begins a round.
  [[nodiscard]] bool at_start() const { return next_ == 0; }

 private:
  pid_t next_ = 0;
};

/// A process, and the paths in its mount namespace at which a socket of its name is bound. Anybody may have
/// bound it.
struct PortProcess {
  pid_t pid = 0;
  std::uint64_t start_time = 0;  ///< In clock ticks after boot. Identifies the process together with the pid.
  uid_t user = 0;
  std::vector<std::string> paths;
};

/// The parts of a default listen port's name, dotnet-diagnostic-{pid}-{start time}-socket. The pid is the one
/// in the process's own pid namespace.
struct PortName {
  std::uint64_t pid = 0;
  std::uint64_t start_time = 0;
  auto operator<=>(const PortName&) const = default;
};

/// The file name of the port.
[[nodiscard]] std::string to_string(const PortName& name);
/// The parts of a file's name; empty if it is no default port's.
[[nodiscard]] std::optional<PortName> port_name(std::string_view file);

/// The paths at which sockets of these names are bound.
using BoundPaths = std::map<PortName, std::vector<std::string>>;

/// Finds processes with a default listen port, wherever the socket is, by the kernel's lists of Unix sockets.
/// Reads only what any process may read of any other, and what no process can delay.
class PortProcesses {
 public:
  /// The processes seen so far. A look takes limited time, and the next one goes on where it has ended.
  [[nodiscard]] std::vector<PortProcess> look();
  /// Whether the last look has seen any process but this one.
  [[nodiscard]] bool sees_others() const { return known_.size() > 1; }

 private:
  struct Known {
    PortName name;
    ino_t network = 0;  ///< Identifies the network namespace.
    std::uint64_t round = 0;
  };
  void note(pid_t pid);
  [[nodiscard]] BoundPaths bound_paths() const;

  std::map<pid_t, Known> known_;
  std::uint64_t round_ = 0;
  ProcessWalk walk_;
};

/// Adds to `bound` the paths in the text of /proc/PID/net/unix whose names are in `wanted`, which is sorted.
/// Both the paths of a name and the names are limited in number.
void add_bound_paths(std::string_view net_unix, const std::vector<PortName>& wanted, BoundPaths& bound);

}  // namespace farport::router
