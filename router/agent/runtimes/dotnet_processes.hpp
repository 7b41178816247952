// .NET processes that are visible in /proc and whose diagnostic ports are not: so that an empty list has a
// reason.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "router/agent/runtimes/process_walk.hpp"
#include "router/wire/diagnosis.hpp"

namespace farport::router {

/// Finds the processes by the names that .NET gives its threads, and their sockets by /proc/PID/net/unix:
/// these may be read of any process, by an agent without privileges and under Landlock, too. Processes choose
/// what is read here, and may make it slow: a look blocks, and is for another thread than the loop's.
class DotnetProcesses {
 public:
  /// What the agent serves already.
  struct Served {
    std::vector<std::string> search;  ///< Directories.
    std::set<pid_t> processes;        ///< Those whose runtimes are listed, or that are known of otherwise.
  };
  /// Why processes that are not served are not. A look takes a limited time; the next one goes on where it
  /// ended, and until then what was found before stays. Of one user's only some are told.
  [[nodiscard]] std::vector<DiscoveryProblem> look(const Served& served);

 private:
  using Process = std::pair<pid_t, std::uint64_t>;  ///< pid and start time.
  struct Seen {
    std::string name;  ///< Of the process: execve(2) changes it.
    bool dotnet = false;
    std::optional<DiscoveryProblem> problem;  ///< What was found out last, whether it is served now or not.
    bool unserved = false;
    uid_t user = 0;
    std::uint64_t round = 0;
  };
  void look_at(pid_t pid, const Served& served);
  [[nodiscard]] std::vector<DiscoveryProblem> unserved() const;

  std::map<Process, Seen> seen_;
  std::uint64_t round_ = 0;
  ProcessWalk walk_;
};

}  // namespace farport::router
