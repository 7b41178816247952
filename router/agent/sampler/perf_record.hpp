// What the kernel writes about a process that it samples (perf_event_open(2), "MMAP layout"). Pure.
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

#include "base/directory.hpp"
#include "base/read_file.hpp"
#include "router/symbols/file_symbols.hpp"
#include "router/wire/samples.hpp"

namespace farport::router {

/// What is asked for of each sample; the decoder goes by it.
inline constexpr std::uint64_t kSampleType = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;

/// A stack as the kernel has seen it.
struct PerfSample {
  pid_t process = 0;
  pid_t thread = 0;
  std::uint64_t time = 0;             ///< CLOCK_MONOTONIC, in nanoseconds.
  std::vector<std::uint64_t> kernel;  ///< Addresses, the innermost first.
  std::vector<std::uint64_t> user;    ///< The same; callers by where they return to.
};

/// Takes what the kernel has written.
class PerfSink {
 public:
  virtual void on_sample(const PerfSample& sample) = 0;
  /// The thread is sampled once more, and has the stack that it had.
  virtual void on_again(pid_t thread, std::uint64_t time) = 0;
  /// A thread begins, which is sampled like the one that began it.
  virtual void on_begin(pid_t process, pid_t thread) = 0;
  /// A thread has ended.
  virtual void on_gone(pid_t process, pid_t thread) = 0;
  /// A thread calls itself something else.
  virtual void on_name(pid_t thread, std::string_view name) = 0;
  virtual void on_mapped(pid_t process, MappedFile file) = 0;
  /// So many records had no room.
  virtual void on_lost(std::uint64_t records) = 0;

 protected:
  ~PerfSink() = default;
};

/// Hands a record on: all of it, its header included. One that is shorter than it should be, or of a kind
/// that nobody asked for, is left out.
void read_perf_record(std::span<const std::byte> record, PerfSink& sink);

// What samples of a process come from.

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
