// PerfCounters: has the kernel sample all threads of a process (perf_event_open(2)).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "router/agent/sampler/perf_record.hpp"

namespace farport::router {

/// What decides whether the kernel lets a process be sampled (the kernel's
/// Documentation/admin-guide/perf-security.rst).
struct PerfFacts {
  std::optional<int> paranoid{};  ///< kernel.perf_event_paranoid; nothing if the kernel has no such events.
  bool own_filter = false;        ///< This process's system calls are filtered.
  bool own_process = false;       ///< The other process belongs to this user.
};

/// `user` is the user of the process to be sampled.
[[nodiscard]] PerfFacts look_at_perf(uid_t user);

/// The facts, and the result of a try.
struct SamplingTry {
  PerfFacts facts{};
  int error = 0;  ///< An errno value; 0 if the process can be sampled.
};
/// Opens a counter on the process, whose user is `user`, and closes it at once.
[[nodiscard]] SamplingTry try_to_sample(pid_t process, uid_t user);

/// Why the kernel has refused (`error` is an errno value), and the least right that would do.
[[nodiscard]] Error explain_perf_refusal(const PerfFacts& facts, int error);

/// Why samples lack the kernel's part of stacks.
[[nodiscard]] std::string explain_missing_kernel(const PerfFacts& facts);

/// The memory to which the kernel writes the samples of one processor (perf_event_open(2), "MMAP layout").
class PerfRing {
 public:
  /// Maps the ring of this counter, which other counters can share, with so many pages of data at most.
  /// Errors: EPERM (`cause`) if the user has no more memory for this (kernel.perf_event_mlock_kb).
  [[nodiscard]] static Result<PerfRing> map(int counter, std::size_t most_pages);

  PerfRing(PerfRing&& other) noexcept;
  PerfRing& operator=(PerfRing&&) = delete;
  PerfRing(const PerfRing&) = delete;
  PerfRing& operator=(const PerfRing&) = delete;
  ~PerfRing();

  /// Passes on all records in the ring, and frees their space.
  void read(PerfSink& sink);

 private:
  PerfRing(std::byte* base, std::size_t size) : base_(base), size_(size) {}

  std::byte* base_;
  std::size_t size_;               ///< Of the data, which begins one page after the base.
  std::vector<std::byte> record_;  ///< The record being read.
};

/// Samples of the kernel's performance counters, one for each thread on each processor.
class PerfCounters final : public SampleSource {
 public:
  /// Samples the process's threads, and those that they begin, from now on. Uses the processor's cycles if
  /// they can be counted. If `kernel`, includes the kernel's part of stacks if that is allowed. All counters
  /// may take `kernel_memory` bytes; it is an error if they would need more. Other errors are the system's
  /// (`cause`), which explain_perf_refusal() explains.
  [[nodiscard]] static Result<std::unique_ptr<PerfCounters>> open(pid_t process, std::uint32_t frequency,
                                                                  bool kernel, PerfSink& sink,
                                                                  std::uint64_t kernel_memory);

  void read(PerfSink& sink) override;
  /// The kernel's rings have room for longer than this.
  [[nodiscard]] std::chrono::nanoseconds interval() const override {
    return std::chrono::milliseconds(is_slow() ? 500 : 50);
  }
  [[nodiscard]] SampleClock clock() const override { return kind_.clock; }
  [[nodiscard]] bool kernel() const override { return kind_.kernel; }

 private:
  /// The kind of counter.
  struct Kind {
    std::uint32_t frequency = 0;
    SampleClock clock = SampleClock::cycles;
    bool kernel = true;
    bool threads_only = true;  ///< Leave out child processes, if the kernel can (5.13).
  };
  /// The ring of one processor.
  struct Processor {
    int number;
    int first;  ///< The counter whose ring the others write to.
    PerfRing ring;
  };

  /// Whether samples are so few that they need not be read often, nor much room.
  [[nodiscard]] bool is_slow() const { return kind_.frequency <= 20; }
  explicit PerfCounters(std::uint64_t most) : most_counters_(most) {}
  [[nodiscard]] static int open_counter(const Kind& kind, pid_t thread, int processor);
  [[nodiscard]] Result<void> choose_kind(pid_t process, std::uint32_t frequency, bool with_kernel);
  [[nodiscard]] Result<void> add_threads(pid_t process, PerfSink& sink);
  [[nodiscard]] Result<void> add_thread(pid_t thread);

  std::uint64_t most_counters_;
  Kind kind_;
  std::vector<UniqueFd> counters_;
  std::vector<int> numbers_;           ///< Processors that may be switched on.
  std::vector<Processor> processors_;  ///< Those whose rings are mapped.
  std::set<pid_t> threads_;            ///< Threads that are sampled.
};

}  // namespace farport::router
