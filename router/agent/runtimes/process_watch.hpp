// ProcessWatch: what /proc says about sockets in no search directory, and about .NET processes not served.
#pragma once

#include <chrono>
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

/// Finds .NET processes that the agent does not serve, and why, so that an empty list has a reason.
/// Recognises them by the names that .NET gives its threads, and finds their sockets in /proc/PID/net/unix.
/// Both may be read of any process, without privileges and under Landlock. Processes can make this slow, so
/// look() blocks and must not run on the loop's thread.
class DotnetProcesses {
 public:
  /// What the agent already serves.
  struct Served {
    std::vector<std::string> search;  ///< Directories.
    std::set<pid_t> processes;        ///< Those whose runtimes are listed or being looked into.
  };
  /// How much to look at: every process, or only new ones and .NET's, except in a full round now and then.
  enum class Extent { all, new_ones };
  /// The problems of processes that are not served. A look takes a limited time, and the next one goes on
  /// where it ended; until then earlier results stay. Only some problems of each user are returned.
  [[nodiscard]] std::vector<DiscoveryProblem> look(const Served& served, Extent extent);
  /// Whether the last look was part of a full round.
  [[nodiscard]] bool looked_at_all() const { return looked_at_all_; }

 private:
  using Process = std::pair<pid_t, std::uint64_t>;  ///< pid and start time.
  struct Seen {
    std::string name;  ///< The process's, which execve(2) changes.
    bool dotnet = false;
    std::optional<DiscoveryProblem> problem;  ///< The last result, even if it is served now.
    bool unserved = false;
    uid_t user = 0;
    std::uint64_t round = 0;
  };
  using Clock = std::chrono::steady_clock;
  /// Whether the process with this pid was settled in an earlier round: not .NET, and too old to become it.
  /// Another one that has taken its pid, or one that executes .NET later, is found by a full round.
  [[nodiscard]] bool is_settled(pid_t pid);
  void look_at(pid_t pid, const Served& served);
  [[nodiscard]] std::vector<DiscoveryProblem> unserved() const;

  std::map<Process, Seen> seen_;
  std::uint64_t round_ = 0;
  ProcessWalk walk_;
  bool looked_at_all_ = false;
  bool full_ = false;               ///< This round looks at every process.
  Clock::duration full_took_{};     ///< How long the last full round took.
  Clock::time_point full_ended_{};  ///< When it ended.
};

/// The sockets that were found through processes, and what kept others from being found.
struct ProcessSockets {
  std::map<std::string, FoundSocket> sockets;  ///< By path.
  std::vector<DiscoveryProblem> problems;
};

/// Opens the socket of each process through its root. A socket that is the same file as in `known` is taken
/// from there. Blocks for as long as those processes' file systems like.
[[nodiscard]] ProcessSockets open_sockets_of(const std::vector<PortProcess>& processes,
                                             const std::map<std::string, FoundSocket>& known);

/// Looks into processes again and again: for sockets, if asked to, and for those that are not served.
class ProcessWatch {
 public:
  struct Settings {
    std::vector<std::string> search;  ///< Directories that the scan searches.
    bool find_sockets = false;        ///< Look into every process.
    transport::Milliseconds rescan{5000};
    bool tell_of_others = true;  ///< Log what can't be reached, which mostly belongs to other users.
  };
  /// `shares` limits the sockets that are found of each user.
  ProcessWatch(transport::Loop& loop, Registry& registry, Log log, Settings settings, UserShares shares);
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;
  ~ProcessWatch();

  /// Looks until it is cancelled, and sets `changed` whenever the sockets have changed.
  transport::Task<void> run(transport::Event& changed);

  /// Whether sockets have been looked for once, or aren't to be looked for.
  [[nodiscard]] bool looked() const { return looks_ > 0 || !settings_.find_sockets; }

  /// Waits for a look that began after this call, which finds what is not served now, and why. run() must be
  /// running.
  transport::Task<void> look_for_unserved();
  /// Whether sockets have been looked for twice, so that problems are reported.
  [[nodiscard]] bool looked_twice() const { return looks_ > 1 || !settings_.find_sockets; }

  /// Whether the socket at a path is followed already.
  using IsFollowed = std::function<bool(const std::string& path)>;
  /// Adds the sockets that were found through processes to `present`. A file that is in both keeps its path
  /// in `present`, unless it is already followed through its process.
  [[nodiscard]] std::vector<FoundSocket> with_sockets(std::vector<FoundSocket> present,
                                                      const IsFollowed& followed) const;
  /// What was found but is not served, and why.
  [[nodiscard]] std::vector<DiscoveryProblem> problems() const;

 private:
  /// One user's processes. Those that take long delay only that user's others.
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
  int looks_ = 0;  ///< For sockets; stops at two.
  transport::Event unserved_now_;
  bool unserved_asked_ = false;  ///< look_for_unserved() waits for a full round.
  /// The numbers of the last look for unserved processes that has begun, and that has ended.
  std::uint64_t unserved_begun_ = 0;
  std::uint64_t unserved_ended_ = 0;
  transport::Condition unserved_looked_;
  std::shared_ptr<PortProcesses> port_processes_;
  std::map<uid_t, std::unique_ptr<OfUser>> users_;
  std::set<pid_t> looked_into_;
  std::map<std::string, FoundSocket> sockets_;  ///< By path.
  std::vector<DiscoveryProblem> left_out_;
  std::vector<DiscoveryProblem> suspected_;  ///< By the last look; may be processes that are just ending.
  std::vector<DiscoveryProblem> unreached_;  ///< By two looks in a row.
  std::vector<DiscoveryProblem> unserved_;
  std::set<std::string> told_unreached_;
  std::set<std::string> told_unserved_;
};

}  // namespace farport::router
