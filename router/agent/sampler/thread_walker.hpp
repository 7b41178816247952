// Looking from outside at what the threads of a process wait for, without stopping it and without its help:
// it may be stopped, or hang. All that it takes is what the kernel lets the process's own user see.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "confinement/user.hpp"
#include "router/agent/sampler/perf_record.hpp"
#include "router/agent/sampler/stack_walk.hpp"

namespace farport::router {

// What is in the memory of another process, which goes on meanwhile.

/// Pages of it that have been read, and are remembered.
class ProcessPages final : public Memory {
 public:
  explicit ProcessPages(int memory) : memory_(memory) {}

  bool read(std::uint64_t address, std::span<std::byte> to) override;
  void forget() { pages_.clear(); }

 private:
  using Page = std::vector<std::byte>;
  [[nodiscard]] const Page* page_at(std::uint64_t address);

  int memory_;
  std::unordered_map<std::uint64_t, Page> pages_;  ///< By their numbers; one that can't be read is empty.
};

class ProcessMemory final : public Memory {
 public:
  /// Of a process that this one may look into (proc(5), /proc/PID/mem: process_vm_readv(2) reads the same,
  /// but many engines filter it). Errors: the system's (`cause`).
  [[nodiscard]] static Result<ProcessMemory> open(pid_t process);

  /// Reads what lies behind a thread's stack pointer, some pages of it, in one go, and forgets all that was
  /// read before. Errors: nothing is there.
  [[nodiscard]] Result<void> take_stack(std::uint64_t stack_pointer);
  /// The stack that was taken, and what lies beyond.
  bool read(std::uint64_t address, std::span<std::byte> to) override;
  /// Code, and what is written down about it: it stays what it is until this is told to forget it.
  [[nodiscard]] ProcessPages& code() { return code_; }

 private:
  explicit ProcessMemory(UniqueFd memory)
      : memory_(std::move(memory)), beyond_(memory_.get()), code_(memory_.get()) {}

  UniqueFd memory_;
  std::uint64_t stack_begin_ = 0;
  std::size_t stack_size_ = 0;
  std::vector<std::byte> stack_;
  ProcessPages beyond_;
  ProcessPages code_;
};

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
