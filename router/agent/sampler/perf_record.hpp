// What the kernel writes about a process that it samples (perf_event_open(2), "MMAP layout"). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <linux/perf_event.h>
#include <sys/types.h>

#include "router/symbols/elf_symbols.hpp"

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

}  // namespace farport::router
