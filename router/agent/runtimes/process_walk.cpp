#include "router/agent/runtimes/process_walk.hpp"

#include <algorithm>

#include "base/directory.hpp"

namespace farport::router {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

bool ProcessWalk::go_on(std::chrono::milliseconds budget, const std::function<void(pid_t)>& each) {
  const Clock::time_point end = Clock::now() + budget;
  const std::vector<int> pids = numbered_entries("/proc");
  // Where they can't be read since there are no descriptors, that says nothing about what is there.
  if (pids.empty()) return false;
  for (auto pid = std::lower_bound(pids.begin(), pids.end(), next_); pid != pids.end(); ++pid) {
    next_ = *pid;
    if (Clock::now() >= end) return false;
    each(*pid);
  }
  next_ = 0;
  return true;
}

}  // namespace farport::router
