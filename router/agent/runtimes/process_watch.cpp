#include "router/agent/runtimes/process_watch.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "router/agent/runtimes/dotnet_processes.hpp"
#include "transport/offload.hpp"
#include "transport/race.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Milliseconds;
using transport::Task;

/// Nothing tells of new processes: so often they are looked for, if it takes a tenth of that at the most.
constexpr Milliseconds kPause{1000};
/// A problem is told once two looks have found it. Whoever comes first may wait for the second one.
constexpr Milliseconds kUntilSecondLook{100};
constexpr int kRest = 10;
/// Between two looks at what is not served, however often that is asked for.
constexpr Milliseconds kLeastPause{200};
constexpr Milliseconds kMostPause{1000};
/// How long one user's processes may hold up the others'.
constexpr Milliseconds kSocketLookLimit{1000};
/// Threads that users other than root and our own can have hang in their processes.
constexpr long kMaxHung = 64;

}  // namespace

struct ProcessWatch::OfUser {
  ProcessSockets found;
  std::shared_ptr<char> look = std::make_shared<char>();  ///< Held by the thread that looks.
  [[nodiscard]] bool hangs() const { return look.use_count() > 1; }
};

ProcessWatch::ProcessWatch(transport::Loop& loop, Registry& registry, Log log, Settings settings,
                           UserShares shares)
    : loop_(loop),
      registry_(registry),
      log_(std::move(log)),
      settings_(std::move(settings)),
      shares_(shares),
      unserved_now_(loop),
      unserved_looked_(loop),
      port_processes_(std::make_shared<PortProcesses>()) {}

ProcessWatch::~ProcessWatch() = default;

Task<void> ProcessWatch::run(transport::Event& changed) {
  Task<void> finding = find_sockets(changed);
  if (settings_.find_sockets) finding.start();
  co_await find_unserved();
}

std::vector<FoundSocket> ProcessWatch::with_sockets(std::vector<FoundSocket> present,
                                                    const IsFollowed& followed) const {
  using File = std::pair<dev_t, ino_t>;
  const auto file_of = [](const FoundSocket& socket) { return File(socket.file.device, socket.file.inode); };
  std::map<File, const FoundSocket*> ours;
  for (const auto& [path, socket] : sockets_) ours.emplace(file_of(socket), &socket);
  for (FoundSocket& each : present) {
    const auto same = ours.find(file_of(each));
    if (same == ours.end()) continue;
    if (each.name.empty() && followed(same->second->path) && !followed(each.path)) each = *same->second;
    ours.erase(same);
  }
  for (const auto& [file, socket] : ours) present.push_back(*socket);
  return present;
}

std::vector<DiscoveryProblem> ProcessWatch::problems() const {
  std::vector<DiscoveryProblem> all = unreached_;
  all.insert(all.end(), left_out_.begin(), left_out_.end());
  all.insert(all.end(), unserved_.begin(), unserved_.end());
  return all;
}

Task<void> ProcessWatch::find_sockets(transport::Event& changed) {
  for (;;) {
    const auto start = std::chrono::steady_clock::now();
    co_await look_for_sockets();
    const auto before = std::exchange(sockets_, gather_sockets());
    const bool same =
        std::equal(before.begin(), before.end(), sockets_.begin(), sockets_.end(),
                   [](const auto& a, const auto& b) { return a.second.opened == b.second.opened; });
    if (!same || looks_ == 0) changed.set();
    looks_ = std::min(looks_ + 1, 2);
    gather_problems();
    tell(unreached_, told_unreached_);
    const auto took = std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - start);
    co_await transport::sleep(loop_, std::max(took * kRest, looks_ == 1 ? kUntilSecondLook : kPause));
  }
}

Task<void> ProcessWatch::look_for_sockets() {
  struct Look {
    std::shared_ptr<PortProcesses> processes;
    std::vector<PortProcess> found;
  };
  const auto look = std::make_shared<Look>(Look{port_processes_, {}});
  const std::function<void()> work = [look] { look->found = look->processes->look(); };
  const Result<void> looked = co_await transport::run_detached(loop_, work);
  if (!looked) co_return;
  ByUser processes;
  looked_into_.clear();
  for (PortProcess& each : look->found) {
    looked_into_.insert(each.pid);
    processes[each.user].push_back(std::move(each));
  }
  share_out(processes);
  std::erase_if(users_,
                [&](const auto& user) { return !processes.contains(user.first) && !user.second->hangs(); });
  for (auto& [user, theirs] : processes) {
    auto& place = users_[user];
    if (place == nullptr) place = std::make_unique<OfUser>();
    const auto hung =
        std::count_if(users_.begin(), users_.end(), [](const auto& each) { return each.second->hangs(); });
    if (place->hangs() || (hung >= kMaxHung && !shares_.is_trusted(user))) continue;
    co_await look_into(*place, std::move(theirs));
  }
}

Task<void> ProcessWatch::look_into(OfUser& user, std::vector<PortProcess> processes) {
  struct Look {
    std::vector<PortProcess> processes;
    std::map<std::string, FoundSocket> known;
    ProcessSockets found;
    std::shared_ptr<char> held;
  };
  const auto look = std::make_shared<Look>(Look{std::move(processes), user.found.sockets, {}, user.look});
  const std::function<void()> work = [look] { look->found = open_sockets_of(look->processes, look->known); };
  const Result<void> looked = co_await transport::run_detached(loop_, work, kSocketLookLimit);
  if (looked) user.found = std::move(look->found);
}

/// The oldest processes stay: a user who starts ever more of them loses none that is listed.
void ProcessWatch::share_out(ByUser& processes) {
  std::map<uid_t, std::size_t> counts;
  for (const auto& [user, theirs] : processes) counts[user] = theirs.size();
  const std::size_t fair = fair_share(shares_, counts);
  left_out_.clear();
  for (auto& [user, theirs] : processes) {
    const std::size_t share = std::min(fair, shares_.of(user));
    if (theirs.size() <= share) continue;
    std::sort(theirs.begin(), theirs.end(),
              [](const PortProcess& a, const PortProcess& b) { return a.start_time < b.start_time; });
    theirs.resize(share);
    left_out_.push_back({DiscoveryIssue::other, "the .NET processes of user " + std::to_string(user), user,
                         "there are more than the " + std::to_string(share) +
                             " that are looked into of one user: the newest are left out",
                         "raise the limit of open files (LimitNOFILE=)"});
  }
}

std::map<std::string, FoundSocket> ProcessWatch::gather_sockets() const {
  std::map<std::string, FoundSocket> all;
  for (const auto& [user, of] : users_) all.insert(of->found.sockets.begin(), of->found.sockets.end());
  return all;
}

void ProcessWatch::gather_problems() {
  std::vector<DiscoveryProblem> problems;
  for (const auto& [user, of] : users_) {
    problems.insert(problems.end(), of->found.problems.begin(), of->found.problems.end());
  }
  unreached_.clear();
  std::copy_if(problems.begin(), problems.end(), std::back_inserter(unreached_), [this](const auto& each) {
    return std::find(suspected_.begin(), suspected_.end(), each) != suspected_.end();
  });
  suspected_ = std::move(problems);
  if (port_processes_->sees_others()) return;
  unreached_.push_back(
      {DiscoveryIssue::other, "/proc", shares_.self, "farport sees no process but itself",
       "share the application's pid namespace (in a pod: shareProcessNamespace or an ephemeral "
       "container with a target; podman and docker: --pid=container:NAME; a host's daemon: hostPID)"});
}

Task<void> ProcessWatch::find_unserved() {
  struct Look {
    DotnetProcesses processes;
    DotnetProcesses::Served served;
    std::vector<DiscoveryProblem> found;
  };
  const auto look = std::make_shared<Look>();
  look->served.search = settings_.search;
  for (;;) {
    co_await with_deadline(loop_, unserved_now_.wait(), settings_.rescan);
    const auto start = std::chrono::steady_clock::now();
    ++unserved_begun_;
    look->served.processes = registry_.processes();
    look->served.processes.insert(looked_into_.begin(), looked_into_.end());
    const std::function<void()> work = [look] { look->found = look->processes.look(look->served); };
    const Result<void> looked = co_await transport::run_detached(loop_, work);
    if (looked) {
      tell(look->found, told_unserved_);
      unserved_ = look->found;
    }
    unserved_ended_ = unserved_begun_;
    unserved_looked_.changed();
    const auto took = std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - start);
    co_await transport::sleep(loop_, std::clamp(took * kRest, kLeastPause, kMostPause));
  }
}

Task<void> ProcessWatch::look_for_unserved() {
  const std::uint64_t wanted = unserved_begun_ + 1;
  unserved_now_.set();
  while (unserved_ended_ < wanted) co_await unserved_looked_.wait();
}

/// Says in the log what has not been said.
void ProcessWatch::tell(const std::vector<DiscoveryProblem>& problems, std::set<std::string>& told) {
  std::set<std::string> present;
  for (const DiscoveryProblem& problem : problems) {
    if (problem.issue == DiscoveryIssue::starting) continue;
    const std::string message = problem.message();
    // Those of others are no problem of a host's agent.
    const bool expected =
        problem.issue == DiscoveryIssue::socket_elsewhere || problem.issue == DiscoveryIssue::out_of_reach;
    const LogLevel level = !expected                  ? LogLevel::warn
                           : settings_.tell_of_others ? LogLevel::info
                                                      : LogLevel::debug;
    if (!told.contains(message)) log_->say(level, message);
    present.insert(message);
  }
  told = std::move(present);
}

}  // namespace farport::router
