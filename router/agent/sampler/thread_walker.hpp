// Looking from outside at what the threads of a process wait for, without stopping it and without its help:
// it may be stopped, or hang. All that it takes is what the kernel lets the process's own user see.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/unique_fd.hpp"
#include "confinement/user.hpp"
#include "router/agent/sampler/process_memory.hpp"
#include "router/agent/sampler/sample_source.hpp"
#include "router/agent/sampler/stack_walk.hpp"

namespace farport::router {

/// What stands for a system call at the inner end of a thread's stack: an address of the kernel's half.
[[nodiscard]] std::uint64_t system_call_address(std::uint32_t number);

class ThreadWalker final : public SampleSource {
 public:
  /// `user`: whose process it is; as root this process acts as that user until the walker is destroyed.
  /// `space`: what may be executed there; what comes later is told to the sink. `kernel_base`: what the sink
  /// takes away from the kernel's addresses. `kernel_memory`: about so many bytes for files that are kept
  /// open, of threads that can be looked at for less then. Errors: it may not be looked into.
  [[nodiscard]] static Result<std::unique_ptr<ThreadWalker>> open(pid_t process, uid_t user,
                                                                  std::uint32_t frequency,
                                                                  const AddressSpace& space,
                                                                  std::uint64_t kernel_base,
                                                                  std::uint64_t kernel_memory);

  /// Samples each thread now: one that has not run since it was sampled last has the same stack again, one
  /// that runs has none.
  void read(PerfSink& sink) override;
  [[nodiscard]] std::chrono::nanoseconds interval() const override { return interval_; }
  [[nodiscard]] SampleClock clock() const override { return SampleClock::wall; }
  [[nodiscard]] bool kernel() const override { return false; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Thread {
    UniqueFd schedule;  ///< /proc/PID/task/TID/schedstat; none: it is opened for each look.
    std::string ran;    ///< What that said when it was sampled last.
    std::string name;   ///< That was told last.
    bool there = true;
  };
  ThreadWalker(pid_t process, ProcessMemory memory, std::chrono::nanoseconds interval,
               const AddressSpace& space, std::uint64_t kernel_base, std::size_t most_files)
      : process_(process),
        interval_(interval),
        kernel_base_(kernel_base),
        most_files_(most_files),
        memory_(std::move(memory)),
        walk_(memory_, memory_.code(), space) {}

  [[nodiscard]] static Result<std::unique_ptr<ThreadWalker>> open_as(
      std::optional<confinement::ActingAs> acting, pid_t process, std::uint32_t frequency,
      const AddressSpace& space, std::uint64_t kernel_base, std::size_t most_files);
  [[nodiscard]] Result<void> try_out();
  void find_threads(PerfSink& sink);
  /// What its schedstat says. Empty: it is gone; none: it can't be read now.
  [[nodiscard]] std::optional<std::string> schedule_of(pid_t number, const Thread& thread) const;
  void read_maps(PerfSink& sink);
  /// False: the thread is gone.
  [[nodiscard]] bool sample(pid_t number, Thread& thread, PerfSink& sink);
  void tell_name(pid_t number, Thread& thread, PerfSink& sink) const;
  /// None: it has gone on meanwhile, or is gone.
  [[nodiscard]] std::optional<PerfSample> look(pid_t number, const Thread& thread, const std::string& ran);
  [[nodiscard]] std::string path_of(pid_t thread, const char* file) const;

  std::optional<confinement::ActingAs> acting_;
  pid_t process_;
  std::chrono::nanoseconds interval_;
  std::uint64_t kernel_base_;
  std::size_t most_files_;  ///< Of threads that are kept open.
  ProcessMemory memory_;
  StackWalk walk_;
  std::map<pid_t, Thread> threads_;
  pid_t next_ = 0;  ///< With which to begin.
  std::optional<Clock::time_point> last_read_;
  Clock::time_point rests_until_;
  Clock::time_point threads_found_;
  Clock::time_point maps_read_ = Clock::now();
};

}  // namespace farport::router
