// Records of samples: what the kernel writes about a process that it samples (perf_event_open(2)). Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <linux/perf_event.h>
#include <sys/types.h>

#include "base/files.hpp"
#include "base/process_stat.hpp"
#include "router/symbols/file_symbols.hpp"
#include "router/wire/samples.hpp"

namespace farport::router {

/// The fields that the kernel is asked for. The decoder relies on them.
inline constexpr std::uint64_t kSampleType = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;

/// A stack as the kernel has recorded it.
struct PerfSample {
  pid_t process = 0;
  pid_t thread = 0;
  std::uint64_t time = 0;             ///< CLOCK_MONOTONIC, in nanoseconds.
  std::vector<std::uint64_t> kernel;  ///< Addresses, innermost first.
  std::vector<std::uint64_t> user;    ///< The same. A caller's is its return address.
};

/// Receives what the kernel has recorded.
class PerfSink {
 public:
  virtual void on_sample(const PerfSample& sample) = 0;
  /// The thread is sampled again, and its stack has not changed.
  virtual void on_same_stack(pid_t thread, std::uint64_t time) = 0;
  /// A thread begins, and is sampled like the one that began it.
  virtual void on_thread_start(pid_t process, pid_t thread) = 0;
  /// A thread has ended.
  virtual void on_thread_exit(pid_t process, pid_t thread) = 0;
  /// A thread has changed its name.
  virtual void on_name(pid_t thread, std::string_view name) = 0;
  virtual void on_mapped(pid_t process, MappedFile file) = 0;
  /// There was no room for this many records.
  virtual void on_lost(std::uint64_t records) = 0;

 protected:
  ~PerfSink() = default;
};

/// Passes on a record, which includes its header. Ignores one that is too short, or of an unknown kind.
void read_perf_record(std::span<const std::byte> record, PerfSink& sink);

/// The threads that a process has now, `most` at most.
[[nodiscard]] inline std::vector<pid_t> threads_of(
    pid_t process, std::size_t most = std::numeric_limits<std::size_t>::max()) {
  return numbered_entries(directory_of_process(process) + "/task", most);
}

/// The name of a thread; empty if the thread is gone.
[[nodiscard]] inline std::string thread_name(pid_t process, pid_t thread) {
  const std::string path = directory_of_process(process) + "/task/" + std::to_string(thread) + "/comm";
  std::string name = read_limited(path, 64).value_or("");
  if (name.ends_with('\n')) name.pop_back();
  return name;
}

/// A source of samples of a process.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  SampleSource() = default;
  SampleSource(const SampleSource&) = delete;
  SampleSource& operator=(const SampleSource&) = delete;

  /// Passes on what has been sampled since the last call, or samples now.
  virtual void read(PerfSink& sink) = 0;
  /// How often to call read().
  [[nodiscard]] virtual std::chrono::nanoseconds interval() const = 0;
  [[nodiscard]] virtual SampleClock clock() const = 0;
  /// Whether stacks go on into the kernel.
  [[nodiscard]] virtual bool kernel() const = 0;
};

}  // namespace farport::router
