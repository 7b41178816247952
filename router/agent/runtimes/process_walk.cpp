#include "router/agent/runtimes/process_walk.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/directory.hpp"

namespace farport::router {
namespace {

using Clock = std::chrono::steady_clock;

std::optional<int> number_in(std::string_view name) {
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

}  // namespace

bool ProcessWalk::go_on(std::chrono::milliseconds budget, const std::function<void(pid_t)>& each) {
  const Clock::time_point end = Clock::now() + budget;
  const std::vector<int> pids = numbered_entries("/proc", std::string::npos);
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

std::vector<int> numbered_entries(const std::string& directory, std::size_t most) {
  std::vector<int> numbers;
  const OpenDirectory entries(::opendir(directory.c_str()));
  while (const dirent* entry = entries == nullptr ? nullptr : ::readdir(entries.get())) {
    if (numbers.size() == most) break;
    if (const auto number = number_in(entry->d_name)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace farport::router
