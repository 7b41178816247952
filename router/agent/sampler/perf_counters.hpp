// Having the kernel sample all threads of a process (perf_event_open(2)).
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

// Whether the kernel lets a process be sampled, and why not (perf_event_open(2), and the kernel's
// Documentation/admin-guide/perf-security.rst).

/// What decides it.
struct PerfFacts {
  std::optional<int> paranoid{};   ///< kernel.perf_event_paranoid; none: the kernel has no such events.
  std::uint64_t capabilities = 0;  ///< Ours.
  bool own_filter = false;         ///< Our system calls are filtered.
  bool own_process = false;        ///< It is a process of our user.
};

/// `user`: whose process it would be that is sampled.
[[nodiscard]] PerfFacts look_at_perf(uid_t user);

/// Whether it should be allowed, the kernel's part of stacks left aside.
[[nodiscard]] bool may_sample(const PerfFacts& facts);

/// "kernel.perf_event_paranoid is 2".
[[nodiscard]] std::string describe_paranoia(const PerfFacts& facts);

/// Why the kernel has said no (`error`: an errno value), and the least that would be enough.
[[nodiscard]] Error explain_perf_refusal(const PerfFacts& facts, int error);

/// Why samples have no kernel's part in them, which the kernel has refused.
[[nodiscard]] std::string explain_missing_kernel(const PerfFacts& facts);

// The memory in which the kernel puts what it samples on one processor (perf_event_open(2), "MMAP layout").

class PerfRing {
 public:
  /// Of this counter, and of those whose records are put there, too. Errors: EPERM (`cause`): the user has no
  /// more memory for this (kernel.perf_event_mlock_kb).
  [[nodiscard]] static Result<PerfRing> map(int counter);

  PerfRing(PerfRing&& other) noexcept;
  PerfRing& operator=(PerfRing&&) = delete;
  PerfRing(const PerfRing&) = delete;
  PerfRing& operator=(const PerfRing&) = delete;
  ~PerfRing();

  /// Hands on all that is there, and makes room.
  void read(PerfSink& sink);

 private:
  PerfRing(std::byte* base, std::size_t size) : base_(base), size_(size) {}

  std::byte* base_;
  std::size_t size_;               ///< Of the data, which begins a page behind the base.
  std::vector<std::byte> record_;  ///< The one that is read.
};

class PerfCounters final : public SampleSource {
 public:
  /// Samples the process's threads, and those that they begin, from now on: by the processor's cycles where
  /// they can be counted; with `kernel` also the kernel's part of stacks, where that is allowed. Errors: the
  /// system's (`cause`); explain_perf_refusal() knows what those mean. `kernel_memory`: so many
  /// bytes for all counters; where it would take more, that is an error, too.
  [[nodiscard]] static Result<std::unique_ptr<PerfCounters>> open(pid_t process, std::uint32_t frequency,
                                                                  bool kernel, PerfSink& sink,
                                                                  std::uint64_t kernel_memory);

  void read(PerfSink& sink) override;
  /// The kernel has room for longer.
  [[nodiscard]] std::chrono::nanoseconds interval() const override { return std::chrono::milliseconds(50); }
  [[nodiscard]] SampleClock clock() const override { return kind_.clock; }
  [[nodiscard]] bool kernel() const override { return kind_.kernel; }

 private:
  /// What is asked for.
  struct Kind {
    std::uint32_t frequency = 0;
    SampleClock clock = SampleClock::cycles;
    bool kernel = true;
    bool threads_only = true;  ///< Not the process's children, where the kernel can leave them out (5.13).
  };
  /// What there is of one processor.
  struct Processor {
    int number;
    int first;  ///< The counter whose memory the others' records are put into.
    PerfRing ring;
  };

  explicit PerfCounters(std::uint64_t most) : most_counters_(most) {}
  [[nodiscard]] static int open_counter(const Kind& kind, pid_t thread, int processor);
  [[nodiscard]] Result<void> choose_kind(pid_t process, std::uint32_t frequency, bool with_kernel);
  [[nodiscard]] Result<void> add_threads(pid_t process, PerfSink& sink);
  [[nodiscard]] Result<void> add_thread(pid_t thread);

  std::uint64_t most_counters_;
  Kind kind_;
  std::vector<UniqueFd> counters_;
  std::vector<int> numbers_;           ///< Of the processors that may be there.
  std::vector<Processor> processors_;  ///< Whose memory is mapped.
  std::set<pid_t> threads_;            ///< That are sampled.
};

}  // namespace farport::router
