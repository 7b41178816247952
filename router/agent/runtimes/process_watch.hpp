// What /proc tells discovery: runtimes' sockets that are in no search directory, where they are asked for,
// and .NET processes that are not served, with why.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/log.hpp"
#include "router/agent/runtimes/process_walk.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "router/agent/runtimes/socket_scan.hpp"
#include "router/wire/diagnosis.hpp"
#include "transport/event.hpp"

namespace farport::router {

/// .NET processes that are visible in /proc and whose diagnostic ports are not: so that an empty list has a
/// reason.
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

struct ProcessSockets {
  std::map<std::string, FoundSocket> sockets;  ///< By path.
  std::vector<DiscoveryProblem> problems;
};

/// The sockets of processes, through their roots. Blocks for as long as those processes' file systems like.
/// Opens the socket of each process. One that is the same file as in `known` is taken from there.
[[nodiscard]] ProcessSockets open_sockets_of(const std::vector<PortProcess>& processes,
                                             const std::map<std::string, FoundSocket>& known);

class ProcessWatch {
 public:
  struct Settings {
    std::vector<std::string> search;  ///< Directories that others look through.
    bool find_sockets = false;        ///< Look into every process.
    transport::Milliseconds rescan{5000};
    bool tell_of_others = true;  ///< Log what can't be reached, mostly of other users.
  };
  /// `shares`: of sockets that are found.
  ProcessWatch(transport::Loop& loop, Registry& registry, Log log, Settings settings, UserShares shares);
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;
  ~ProcessWatch();

  /// Looks around until it is cancelled, and sets `changed` whenever there are other sockets than before.
  transport::Task<void> run(transport::Event& changed);

  /// Whether sockets have been looked for once, or aren't to be looked for.
  [[nodiscard]] bool looked() const { return looks_ > 0 || !settings_.find_sockets; }

  /// Passes once it is known what is not served now, and why: when a look that began after this call has
  /// ended. Beside run().
  transport::Task<void> look_for_unserved();
  /// Whether what was found through sockets has been found twice, and so is told.
  [[nodiscard]] bool looked_twice() const { return looks_ > 1 || !settings_.find_sockets; }

  /// Whether the socket at a path is followed already.
  using IsFollowed = std::function<bool(const std::string& path)>;
  /// Those of `present`, and those that were found through processes. A file that is both is taken by its
  /// path, unless it is followed through its process already.
  [[nodiscard]] std::vector<FoundSocket> with_sockets(std::vector<FoundSocket> present,
                                                      const IsFollowed& followed) const;
  /// What is known of and not served.
  [[nodiscard]] std::vector<DiscoveryProblem> problems() const;

 private:
  /// One user's processes: whatever takes its time in them holds up that user's alone.
  struct OfUser;
  using ByUser = std::map<uid_t, std::vector<PortProcess>>;

  transport::Task<void> find_sockets(transport::Event& changed);
  transport::Task<void> look_for_sockets();
  transport::Task<void> look_into(OfUser& user, std::vector<PortProcess> processes);
  transport::Task<void> find_unserved();
  void share_out(ByUser& processes);
  [[nodiscard]] std::map<std::string, FoundSocket> gather_sockets() const;
  void gather_problems();
  void tell(const std::vector<DiscoveryProblem>& problems, std::set<std::string>& told);

  transport::Loop& loop_;
  Registry& registry_;
  Log log_;
  Settings settings_;
  UserShares shares_;
  int looks_ = 0;  ///< For sockets, up to two.
  transport::Event unserved_now_;
  /// Looks for what is not served: those that have begun, and those that have ended.
  std::uint64_t unserved_begun_ = 0;
  std::uint64_t unserved_ended_ = 0;
  transport::Condition unserved_looked_;
  std::shared_ptr<PortProcesses> port_processes_;
  std::map<uid_t, std::unique_ptr<OfUser>> users_;
  std::set<pid_t> looked_into_;
  std::map<std::string, FoundSocket> sockets_;  ///< By path.
  std::vector<DiscoveryProblem> left_out_;
  std::vector<DiscoveryProblem> suspected_;  ///< Of one look: what is ending looks the same for a moment.
  std::vector<DiscoveryProblem> unreached_;  ///< Of two looks in a row.
  std::vector<DiscoveryProblem> unserved_;
  std::set<std::string> told_unreached_;
  std::set<std::string> told_unserved_;
};

}  // namespace farport::router
