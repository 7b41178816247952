// Having the kernel sample all threads of a process (perf_event_open(2)).
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "base/unique_fd.hpp"
#include "router/agent/sampler/perf_ring.hpp"
#include "router/agent/sampler/sample_source.hpp"

namespace farport::router {

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
