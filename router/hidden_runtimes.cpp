#include "router/hidden_runtimes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>

#include "base/limited_read.hpp"
#include "base/process_stat.hpp"
#include "router/directory.hpp"
#include "transport/detached_work.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using Clock = std::chrono::steady_clock;
using transport::Task;

constexpr std::array<std::string_view, 4> kSwitches{
    "DOTNET_EnableDiagnostics=0", "DOTNET_EnableDiagnostics_IPC=0", "COMPlus_EnableDiagnostics=0",
    "COMPlus_EnableDiagnostics_IPC=0"};

/// The longest variable that a program can be started with (execve(2)); services' whole environments are far
/// smaller. A process can make its own look like gigabytes (prctl(2), PR_SET_MM).
constexpr std::size_t kMaxEnvironment = 128 * 1024;
/// Some thousand mappings, as large applications have them.
constexpr std::size_t kMaxMaps = 1024 * 1024;
/// Of another thread's time, in each look.
constexpr std::chrono::milliseconds kBudget{500};

/// The setting in a process's environment that switches its diagnostics off; empty where there is none.
std::string_view switched_off_by(const std::string& environment) {
  for (const std::string_view setting : kSwitches) {
    const std::size_t at = environment.find(setting);
    const std::size_t end = at + setting.size();
    if (at == std::string::npos || (at > 0 && environment[at - 1] != '\0')) continue;
    if (end == environment.size() || environment[end] == '\0') return setting;
  }
  return {};
}

/// In ascending order.
std::vector<pid_t> processes() {
  std::vector<pid_t> pids;
  const OpenDirectory entries(::opendir("/proc"));
  while (const dirent* entry = entries == nullptr ? nullptr : ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && end == name.data() + name.size()) pids.push_back(pid);
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

}  // namespace

std::vector<HiddenRuntimes::Hidden> HiddenRuntimes::look() {
  const Clock::time_point end = Clock::now() + kBudget;
  std::vector<Hidden> found;
  const std::vector<pid_t> pids = processes();
  // Where they can't be read, for want of descriptors, what is known stays known.
  if (pids.empty()) return found;
  for (auto pid = std::lower_bound(pids.begin(), pids.end(), next_); pid != pids.end(); ++pid) {
    next_ = *pid;
    if (Clock::now() >= end) return found;
    const std::optional<ProcessStat> stat = process_stat(*pid);
    if (!stat) continue;
    const Process process{*pid, stat->start_time};
    if (settled_.contains(process) || settles(*pid, found)) still_there_.insert(process);
  }
  settled_ = std::exchange(still_there_, {});
  next_ = 0;
  return found;
}

/// Whether there is no need to look at the process again.
bool HiddenRuntimes::settles(pid_t pid, std::vector<Hidden>& found) {
  const std::string directory = "/proc/" + std::to_string(pid);
  const std::optional<std::string> environment = read_limited(directory + "/environ", kMaxEnvironment);
  if (!environment) return false;
  const std::string_view setting = switched_off_by(*environment);
  if (setting.empty()) return true;
  // A process that has only just started may load the runtime later: it is looked at again.
  const std::optional<std::string> maps = read_limited(directory + "/maps", kMaxMaps);
  if (!maps || maps->find("/libcoreclr.so") == std::string::npos) return false;
  found.push_back({pid, std::string(setting)});
  return true;
}

Task<void> tell_of_hidden_runtimes(transport::Loop& loop, Log log, transport::Milliseconds every) {
  struct Look {
    HiddenRuntimes runtimes;
    std::vector<HiddenRuntimes::Hidden> found;
  };
  const auto look = std::make_shared<Look>();
  for (;;) {
    co_await transport::sleep(loop, every);
    const std::function<void()> work = [look] { look->found = look->runtimes.look(); };
    const bool looked = co_await transport::run_detached(loop, work);
    if (!looked) continue;
    for (const auto& [pid, setting] : look->found) {
      log->warn("the .NET process {} can't be diagnosed: {} is set in its environment; start it without", pid,
                setting);
    }
  }
}

}  // namespace farport::router
