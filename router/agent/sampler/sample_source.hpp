// What samples of a process come from.
#pragma once

#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include "base/directory.hpp"
#include "base/read_file.hpp"
#include "router/agent/sampler/perf_record.hpp"
#include "router/wire/samples.hpp"

namespace farport::router {

/// `most` of the threads that a process has now.
[[nodiscard]] inline std::vector<pid_t> threads_of(
    pid_t process, std::size_t most = std::numeric_limits<std::size_t>::max()) {
  return numbered_entries("/proc/" + std::to_string(process) + "/task", most);
}

/// What a thread calls itself now; empty where it is gone.
[[nodiscard]] inline std::string thread_name(pid_t process, pid_t thread) {
  const std::string path = "/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/comm";
  std::string name = read_limited(path, 64).value_or("");
  if (name.ends_with('\n')) name.pop_back();
  return name;
}

class SampleSource {
 public:
  virtual ~SampleSource() = default;
  SampleSource() = default;
  SampleSource(const SampleSource&) = delete;
  SampleSource& operator=(const SampleSource&) = delete;

  /// Hands on what has been sampled since, or samples now.
  virtual void read(PerfSink& sink) = 0;
  /// How often to read.
  [[nodiscard]] virtual std::chrono::nanoseconds interval() const = 0;
  [[nodiscard]] virtual SampleClock clock() const = 0;
  /// Whether stacks go on into the kernel.
  [[nodiscard]] virtual bool kernel() const = 0;
};

}  // namespace farport::router
