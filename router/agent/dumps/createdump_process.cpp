#include "router/agent/dumps/createdump_process.hpp"

#include <csignal>
#include <fstream>
#include <string>

#include <sys/syscall.h>
#include <unistd.h>

#include "base/directory.hpp"
#include "base/read_file.hpp"
#include "base/process_stat.hpp"
#include "router/wire/dump.hpp"
#include "transport/child_process.hpp"

namespace farport::router {
namespace {

/// A path and a few flags.
constexpr std::size_t kMaxArguments = 64 * 1024;

bool writes_to(pid_t pid, const std::string& path) {
  const std::string directory = "/proc/" + std::to_string(pid);
  const auto name = read_limited(directory + "/comm", kMaxArguments);
  if (!name || *name != "createdump\n") return false;
  const auto arguments = read_limited(directory + "/cmdline", kMaxArguments);
  return arguments && arguments->find(path) != std::string::npos;
}

/// The children that any of the process's threads has started.
template <typename Each>
void each_child(pid_t pid, Each each) {
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for (const int task : numbered_entries(tasks)) {
    std::ifstream children(tasks + "/" + std::to_string(task) + "/children");
    for (pid_t child = 0; children >> child;) each(child);
  }
}

}  // namespace

std::optional<std::uint64_t> estimate_dump(pid_t runtime, ipc::DumpType type) {
  if (runtime <= 0) return std::nullopt;
  const auto status = process_status(runtime);
  if (!status || status->memory == 0) return std::nullopt;
  return likely_dump_size(type, status->memory);
}

bool is_stopped(pid_t runtime) {
  const std::optional<ProcessStat> stat = process_stat(runtime);
  return stat && stat->is_stopped();
}

void wake_stopped(pid_t runtime) {
  const UniqueFd process = transport::open_pidfd(runtime);
  if (!process || !is_stopped(runtime)) return;
  ::syscall(SYS_pidfd_send_signal, process.get(), SIGCONT, nullptr, 0);
}

bool stop_createdump(pid_t runtime, const std::string& path) {
  bool stopped = false;
  if (runtime <= 0) return false;
  each_child(runtime, [&](pid_t child) {
    // By descriptor, so that no later process with this pid is meant.
    const UniqueFd process = transport::open_pidfd(child);
    if (!process || !writes_to(child, path)) return;
    stopped = ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) == 0 || stopped;
  });
  return stopped;
}

}  // namespace farport::router
