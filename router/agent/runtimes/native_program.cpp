#include "router/agent/runtimes/native_program.hpp"

#include <algorithm>
#include <vector>

#include "base/process_stat.hpp"

namespace farport::router {
namespace {

/// It is among the first three.
constexpr std::size_t kFirstThreads = 16;

}  // namespace

bool is_native_program(pid_t pid, std::string_view command_line) {
  if (pid <= 0 || command_line.find(".dll") != std::string_view::npos) return false;
  const std::vector<ProcessStat> threads = thread_stats(pid, kFirstThreads);
  return !threads.empty() && std::ranges::none_of(threads, [](const ProcessStat& thread) {
    return thread.name.starts_with(".NET Synch");
  });
}

}  // namespace farport::router
