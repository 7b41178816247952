#include "router/agent/runtimes/dotnet_processes.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include <sys/stat.h>
#include <unistd.h>

#include "base/read_file.hpp"
#include "base/process_stat.hpp"
#include "router/agent/runtimes/port_processes.hpp"

namespace farport::router {
namespace {

/// A runtime has its threads and its socket soon after its start: so long the socket may be yet to come.
constexpr double kYoungSeconds = 3;
/// After that a process that is no .NET one stays none, unless it runs another program.
constexpr double kSettledSeconds = 30;
/// .NET starts its own threads before the application's.
constexpr int kMaxThreads = 64;
constexpr std::size_t kMaxThreadName = 32;
constexpr std::size_t kMaxSockets = 4 * 1024 * 1024;
constexpr std::size_t kMaxDotnetEnviron = 128 * 1024;
/// Of each user's processes, and of all users'.
constexpr std::size_t kMaxOfOneUser = 16;
constexpr std::size_t kMaxOfAllUsers = 128;

constexpr std::string_view kThreads = ".NET ";
/// The thread that serves the diagnostic port.
constexpr std::string_view kPortThread = ".NET EventPipe";

constexpr std::array<std::string_view, 4> kSwitches{
    "DOTNET_EnableDiagnostics=0", "DOTNET_EnableDiagnostics_IPC=0", "COMPlus_EnableDiagnostics=0",
    "COMPlus_EnableDiagnostics_IPC=0"};

std::string directory_of_process(pid_t pid) {
  return "/proc/" + std::to_string(pid);
}

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

/// The setting in a process's environment that switches its diagnostics off, if the kernel lets us see it.
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

/// Whether the process sees the same file systems as we do. Mounts have numbers, which no two namespaces
/// share.
bool shares_mounts(pid_t pid) {
  const auto theirs = read_limited(directory_of_process(pid) + "/mountinfo", kMaxMountInfo);
  const auto ours = read_limited("/proc/self/mountinfo", kMaxMountInfo);
  return !theirs || !ours || *theirs == *ours;
}

/// What to add where the socket is another user's.
std::string as_its_user(uid_t user) {
  const uid_t own = ::geteuid();
  if (own == 0 || own == user) return {};
  return ", and run farport as user " + std::to_string(user) + " (in a pod: the same runAsUser)";
}

DiscoveryProblem starting(pid_t pid, uid_t user) {
  return {DiscoveryIssue::starting, "the .NET process " + std::to_string(pid), user,
          "it has just started, and is not listed yet", "ask again in some seconds"};
}

/// `setting`: what switches them off, if that is known.
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

/// The path under which a socket of this name is bound, in the mount namespace of whoever bound it. Empty
/// where there is none.
std::string bound_path(pid_t pid, const PortName& name) {
  const auto sockets = read_limited(directory_of_process(pid) + "/net/unix", kMaxSockets);
  BoundPaths bound;
  add_bound_paths(sockets.value_or(""), {name}, bound);
  return bound.empty() ? std::string() : bound.begin()->second.front();
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

std::vector<DiscoveryProblem> DotnetProcesses::look(const Served& served) {
  const bool all = walk_.go_on(kLookBudget, [&](pid_t pid) { look_at(pid, served); });
  if (!all) return unserved();
  std::erase_if(seen_, [this](const auto& entry) { return entry.second.round != round_; });
  ++round_;
  return unserved();
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

}  // namespace farport::router
