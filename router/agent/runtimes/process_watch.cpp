#include "router/agent/runtimes/process_watch.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <iterator>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/process_stat.hpp"
#include "router/agent/runtimes/process_root.hpp"
#include "router/agent/runtimes/process_walk.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "transport/offload.hpp"
#include "transport/race.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

/// A runtime has its threads and its socket soon after its start. At this age the socket may still be
/// missing.
constexpr double kYoungSeconds = 3;
/// A process that is not a .NET one at this age never becomes one, unless it executes another program.
constexpr double kSettledSeconds = 30;
/// What nobody waits for rests this many times as long as it took: a look at the list of processes, and a
/// round through all of them. A process costs 40 us, its place in the list 1.2 us.
constexpr int kRestAfterLook = 2000;
constexpr transport::Milliseconds kLongestRestAfterLook{60'000};
/// .NET starts its own threads before the application's, so looking at the first ones is enough.
constexpr int kMaxThreads = 64;
constexpr std::size_t kMaxThreadName = 32;
constexpr std::size_t kMaxSockets = 4 * 1024 * 1024;
constexpr std::size_t kMaxDotnetEnviron = 128 * 1024;
/// The most problems reported for one user's processes, and for all users'.
constexpr std::size_t kMaxOfOneUser = 16;
constexpr std::size_t kMaxOfAllUsers = 128;

constexpr std::string_view kThreads = ".NET ";
/// The thread that serves the diagnostic port.
constexpr std::string_view kPortThread = ".NET EventPipe";

constexpr std::array<std::string_view, 4> kSwitches{
    "DOTNET_EnableDiagnostics=0", "DOTNET_EnableDiagnostics_IPC=0", "COMPlus_EnableDiagnostics=0",
    "COMPlus_EnableDiagnostics_IPC=0"};

struct Threads {
  bool dotnet = false;
  bool port = false;
};

Threads threads_of(pid_t pid) {
  Threads threads;
  const std::string directory = directory_of_process(pid) + "/task";
  for (const int thread : numbered_entries(directory, kMaxThreads)) {
    const auto name = read_limited(directory + "/" + std::to_string(thread) + "/comm", kMaxThreadName);
    if (!name || !name->starts_with(kThreads)) continue;
    threads.dotnet = true;
    threads.port = threads.port || name->starts_with(kPortThread);
    if (threads.port) break;
  }
  return threads;
}

double seconds_since_start(const ProcessStat& stat) {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return static_cast<double>(now.tv_sec) - static_cast<double>(stat.start_time) / ticks;
}

/// The setting in a process's environment that switches its diagnostics off. Empty if there is none, or the
/// environment can't be read.
std::string_view switched_off_by(pid_t pid) {
  const auto environment = read_limited(directory_of_process(pid) + "/environ", kMaxDotnetEnviron);
  if (!environment) return {};
  for (const std::string_view setting : kSwitches) {
    for (std::size_t at = environment->find(setting); at != std::string::npos;
         at = environment->find(setting, at + 1)) {
      const std::size_t end = at + setting.size();
      const bool begins = at == 0 || (*environment)[at - 1] == '\0';
      if (begins && (end == environment->size() || (*environment)[end] == '\0')) return setting;
    }
  }
  return {};
}

/// Whether the process sees the same file systems as this one. Mounts have ids, which no two namespaces
/// share.
bool shares_mounts(pid_t pid) {
  const auto theirs = read_limited(directory_of_process(pid) + "/mountinfo", kMaxMountInfo);
  const auto ours = read_limited("/proc/self/mountinfo", kMaxMountInfo);
  return !theirs || !ours || *theirs == *ours;
}

/// What to add to a hint if the socket belongs to another user.
std::string as_its_user(uid_t user) {
  const uid_t own = ::geteuid();
  if (own == 0 || own == user) return {};
  return ", and run farport as user " + std::to_string(user) + " (in a pod: the same runAsUser)";
}

DiscoveryProblem starting(pid_t pid, uid_t user) {
  return {DiscoveryIssue::starting, "the .NET process " + std::to_string(pid), user,
          "it has just started, and is not listed yet", "ask again in some seconds"};
}

/// `setting` is what switches diagnostics off, if that is known.
DiscoveryProblem diagnostics_off(pid_t pid, uid_t user, std::string_view setting) {
  const std::string about = "the .NET process " + std::to_string(pid);
  if (!setting.empty()) {
    return {DiscoveryIssue::diagnostics_off, about, user,
            "it can't be diagnosed: " + std::string(setting) + " is set in its environment",
            "start it without"};
  }
  return {DiscoveryIssue::diagnostics_off, about, user,
          "it can't be diagnosed: it has no diagnostic port, as with DOTNET_EnableDiagnostics=0 in its "
          "environment",
          "start it without"};
}

/// The path at which a socket of this name is bound, in the mount namespace of whoever bound it. Empty if
/// there is none.
std::string bound_path(pid_t pid, const PortName& name) {
  const auto sockets = read_limited(directory_of_process(pid) + "/net/unix", kMaxSockets);
  BoundPaths bound;
  add_bound_paths(sockets.value_or(""), {name}, bound);
  return bound.empty() ? std::string() : bound.begin()->second.front();
}

bool is_removed(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) != 0 && errno == ENOENT;
}

DiscoveryProblem socket_elsewhere(pid_t pid, uid_t user, const PortName& socket) {
  DiscoveryProblem problem{
      DiscoveryIssue::socket_elsewhere, "the .NET process " + std::to_string(pid), user, {}, {}};
  const std::string path = bound_path(pid, socket);
  const std::string directory = path.empty() ? std::string() : path.substr(0, path.rfind('/'));
  if (!shares_mounts(pid)) {
    const std::string inside = directory.empty() ? "/tmp" : directory;
    problem.why = "its socket is in " + inside +
                  " of a mount namespace of its own (a container, or a service with PrivateTmp)";
    problem.hint = "share that directory with the agent, or add --search proc" + as_its_user(user);
  } else if (directory.empty()) {
    problem.why = "its socket is in no search directory, and no process listens at one of its name";
    problem.hint = "start it again: its socket has been removed, or its diagnostics have failed to start";
  } else if (is_removed(path)) {
    // The kernel goes on telling the path at which it was bound.
    problem.why = "its socket has been removed from " + directory;
    problem.hint =
        "start it again, since no tool reaches it any more; it would survive with a port that it dials "
        "(DOTNET_DiagnosticPorts)";
  } else {
    problem.why = "its socket is in " + directory + " (its TMPDIR), which is not searched";
    problem.hint = "add --search " + directory + as_its_user(user);
  }
  return problem;
}

bool is_in(const std::vector<std::string>& directories, const std::string& name) {
  return std::any_of(directories.begin(), directories.end(), [&](const std::string& directory) {
    struct stat status {};
    return ::lstat((directory + "/" + name).c_str(), &status) == 0;
  });
}

}  // namespace

std::vector<DiscoveryProblem> DotnetProcesses::look(const Served& served, Extent extent) {
  const auto began = Clock::now();
  const bool is_due = began - full_ended_ >= full_took_ * kRestAfterLook;
  if (!full_ && (extent == Extent::all || (walk_.at_start() && is_due))) {
    walk_ = {};
    full_ = true;
    full_took_ = {};
  }
  looked_at_all_ = full_;
  const bool complete = walk_.go_on(kLookBudget, [&](pid_t pid) {
    if (full_ || !is_settled(pid)) look_at(pid, served);
  });
  if (full_) full_took_ += Clock::now() - began;
  if (!complete) return unserved();
  if (full_) full_ended_ = Clock::now();
  full_ = false;
  std::erase_if(seen_, [this](const auto& entry) { return entry.second.round != round_; });
  ++round_;
  return unserved();
}

bool DotnetProcesses::is_settled(pid_t pid) {
  const auto place = seen_.lower_bound({pid, 0});
  if (place == seen_.end() || place->first.first != pid || place->second.dotnet) return false;
  place->second.round = round_;
  return true;
}

void DotnetProcesses::look_at(pid_t pid, const Served& served) {
  const std::optional<ProcessStat> stat = process_stat(pid);
  if (!stat) return;
  const double age = seconds_since_start(*stat);
  const auto place = seen_.find({pid, stat->start_time});
  const bool known = place != seen_.end() && place->second.name == stat->name;
  if (known) place->second.round = round_;
  if (known && !place->second.dotnet) return;
  const Threads threads = threads_of(pid);
  if (!threads.dotnet) {
    if (age > kSettledSeconds) seen_[{pid, stat->start_time}] = {stat->name, false, {}, false, 0, round_};
    return;
  }
  struct stat directory {};
  if (::stat(directory_of_process(pid).c_str(), &directory) != 0) return;
  Seen& seen = seen_[{pid, stat->start_time}];
  const PortName name{pid_in_own_namespace(pid), stat->start_time};
  seen.name = stat->name;
  seen.dotnet = true;
  seen.round = round_;
  seen.user = directory.st_uid;
  seen.unserved = !served.processes.contains(pid) && !is_in(served.search, to_string(name));
  const bool known_why = seen.problem && seen.problem->issue != DiscoveryIssue::starting;
  if (!seen.unserved || known_why) return;
  const std::string_view setting = threads.port ? std::string_view() : switched_off_by(pid);
  if (age < kYoungSeconds && setting.empty()) {
    seen.problem = starting(pid, seen.user);
  } else if (threads.port) {
    seen.problem = socket_elsewhere(pid, seen.user, name);
  } else {
    seen.problem = diagnostics_off(pid, seen.user, setting);
  }
}

std::vector<DiscoveryProblem> DotnetProcesses::unserved() const {
  std::vector<DiscoveryProblem> problems;
  std::map<uid_t, std::size_t> of_user;
  for (const auto& [process, seen] : seen_) {
    if (!seen.unserved || !seen.problem || problems.size() == kMaxOfAllUsers) continue;
    if (++of_user[seen.user] <= kMaxOfOneUser) problems.push_back(*seen.problem);
  }
  return problems;
}

namespace {

constexpr std::size_t kMaxHostname = 512;

std::string name_of(const PortProcess& process) {
  return "the .NET process " + std::to_string(process.pid);
}

/// Whether the pid still belongs to this process.
bool is_same(const PortProcess& process) {
  const auto stat = process_stat(process.pid);
  return stat && stat->start_time == process.start_time;
}

struct OpenSocket {
  UniqueFd fd;  ///< O_PATH.
  SocketFile file;
  std::string path;  ///< In the process's own root.
};

/// Opens the socket at one of the paths, with links resolved in that root. If there are several, prefers the
/// one that belongs to the process's user. Errors say why there is none.
Result<OpenSocket> open_socket(const ProcessRoot& root, const PortProcess& process) {
  OpenSocket found;
  int error = ENOENT;
  for (const std::string& path : process.paths) {
    UniqueFd fd =
        root.open_beneath(path, O_PATH | O_NOFOLLOW | O_CLOEXEC, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
    // A socket that is out of reach says more than another one that isn't there.
    if (!fd && (error == ENOENT || errno != ENOENT)) error = errno;
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISSOCK(status.st_mode)) continue;
    const bool first = !found.fd;
    if (first || status.st_uid == process.user) {
      found = {std::move(fd), {status.st_dev, status.st_ino, status.st_uid}, path};
    }
    if (status.st_uid == process.user) break;
  }
  if (!found.fd) {
    return tl::unexpected(explain_lost_socket(name_of(process), process.paths.front(), error,
                                              credentials_of(::getpid()), credentials_of(process.pid)));
  }
  return found;
}

/// In a pod, a container's hostname is the pod's name.
std::string hostname_of(const ProcessRoot& root) {
  const UniqueFd file = root.open_beneath("etc/hostname", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                                          RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return std::string(hostname_in(read_limited(file.get(), kMaxHostname).value_or("")));
}

Container container_of(const PortProcess& process, const ProcessRoot& root) {
  ContainerSigns signs = router::container_of(process.pid);
  if (signs.in_pod) signs.container.pod = hostname_of(root);
  return std::move(signs.container);
}

Result<FoundSocket> find_socket(const PortProcess& process, const std::map<std::string, FoundSocket>& known) {
  auto root = ProcessRoot::open(process.pid);
  if (!root && root.error().cause != ENOENT && root.error().cause != ESRCH) {
    return tl::unexpected(
        explain_refusal(name_of(process), credentials_of(::getpid()), credentials_of(process.pid)));
  }
  if (!root) return tl::unexpected(root.error());
  ASSIGN_OR_RETURN(auto socket, open_socket(*root, process));
  FoundSocket found;
  found.path = root->is_ours() ? socket.path : directory_of_process(process.pid) + "/root" + socket.path;
  found.file = socket.file;
  const auto same = known.find(found.path);
  if (same != known.end() && same->second.file == found.file) return same->second;
  RETURN_IF_ERROR(check_owner(found.path, found.file.owner));
  found.container = container_of(process, *root);
  found.opened = std::make_shared<const OpenedSocket>(OpenedSocket{std::move(socket.fd), process.pid});
  return found;
}

}  // namespace

ProcessSockets open_sockets_of(const std::vector<PortProcess>& processes,
                               const std::map<std::string, FoundSocket>& known) {
  ProcessSockets all;
  for (const PortProcess& process : processes) {
    auto found = find_socket(process, known);
    // The pid belongs to another process by now, and so does what was found.
    if (!is_same(process)) continue;
    if (found) {
      all.sockets.emplace(found->path, *found);
    } else {
      all.problems.push_back(problem_of(DiscoveryIssue::out_of_reach, process.user, found.error()));
    }
  }
  return all;
}

namespace {

using transport::Milliseconds;
using transport::Task;

/// How often to look for new processes, since nothing reports them, if that takes at most a tenth of the
/// time.
constexpr Milliseconds kPause{1000};
/// A problem is reported once two looks have found it. The second look comes early, for those who wait.
constexpr Milliseconds kUntilSecondLook{100};
constexpr int kRest = 10;
/// The pause between two looks for processes that are not served, however often somebody asks.
constexpr Milliseconds kMinPause{200};
constexpr Milliseconds kMaxPause{1000};
/// How long one user's processes may hold up the others'.
constexpr Milliseconds kSocketLookLimit{1000};
/// The most threads that may hang in processes of users other than root and the agent's own.
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

/// Keeps the oldest processes of each user, so that a user who starts ever more loses none that is listed.
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
  Milliseconds rest = settings_.rescan;
  for (;;) {
    co_await with_deadline(loop_, unserved_now_.wait(), rest);
    const auto start = std::chrono::steady_clock::now();
    ++unserved_begun_;
    const bool asked = std::exchange(unserved_asked_, false);
    look->served.processes = registry_.processes();
    look->served.processes.insert(looked_into_.begin(), looked_into_.end());
    const auto extent = asked ? DotnetProcesses::Extent::all : DotnetProcesses::Extent::new_ones;
    const std::function<void()> work = [look, extent] {
      look->found = look->processes.look(look->served, extent);
    };
    const Result<void> looked = co_await transport::run_detached(loop_, work);
    if (looked) {
      tell(look->found, told_unserved_);
      unserved_ = look->found;
    }
    unserved_ended_ = unserved_begun_;
    unserved_looked_.changed();
    const auto took = std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - start);
    if (!look->processes.looked_at_all()) {
      rest = std::clamp(took * kRestAfterLook, settings_.rescan,
                        std::max(settings_.rescan, kLongestRestAfterLook));
    }
    co_await transport::sleep(loop_, std::clamp(took * kRest, kMinPause, kMaxPause));
  }
}

Task<void> ProcessWatch::look_for_unserved() {
  const std::uint64_t wanted = unserved_begun_ + 1;
  unserved_asked_ = true;
  unserved_now_.set();
  while (unserved_ended_ < wanted) co_await unserved_looked_.wait();
}

/// Logs the problems that have not been logged yet.
void ProcessWatch::tell(const std::vector<DiscoveryProblem>& problems, std::set<std::string>& told) {
  std::set<std::string> present;
  for (const DiscoveryProblem& problem : problems) {
    if (problem.issue == DiscoveryIssue::starting) continue;
    const std::string message = problem.message();
    // Processes of other users are no problem for an agent of a whole host.
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
