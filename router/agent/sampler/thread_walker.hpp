// ThreadWalker: samples what a process's threads wait for, without stopping the process and without its help.
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

/// Which pages a process has. Reading one that it has never used makes the kernel give it that page, and so
/// takes memory of its control group.
class PresentPages {
 public:
  /// Those of a process that this one may look into. If the kernel does not tell, every page counts as there.
  explicit PresentPages(pid_t process);

  /// How many of these bytes can be read before a page that the process does not have.
  [[nodiscard]] std::size_t readable(std::uint64_t address, std::size_t bytes) const;

 private:
  UniqueFd map_;  ///< /proc/PID/pagemap (the kernel's Documentation/admin-guide/mm/pagemap.rst).
};

/// Pages of a process's memory, kept once they have been read.
class ProcessPages final : public Memory {
 public:
  /// `present`: nullptr where only files are read, whose pages take nothing of the process's; else it must
  /// outlive this.
  ProcessPages(int memory, const PresentPages* present) : memory_(memory), present_(present) {}

  bool read(std::uint64_t address, std::span<std::byte> to) override;
  void forget() { pages_.clear(); }

 private:
  using Page = std::vector<std::byte>;
  [[nodiscard]] const Page* page_at(std::uint64_t address);

  int memory_;
  const PresentPages* present_;
  std::unordered_map<std::uint64_t, Page> pages_;  ///< By page number; empty if the page can't be read.
};

/// The memory of another process, which goes on running meanwhile.
class ProcessMemory final : public Memory {
 public:
  /// Opens the memory of a process that this one may look into, by /proc/PID/mem (proc(5)).
  /// process_vm_readv(2) reads the same, but many engines filter it. Errors: the system's (`cause`).
  [[nodiscard]] static Result<ProcessMemory> open(pid_t process);

  /// Reads some pages from a thread's stack pointer on at once, and forgets what was read before. Errors:
  /// nothing is mapped there.
  [[nodiscard]] Result<void> take_stack(std::uint64_t stack_pointer);
  /// Reads from the stack that was taken, or else from memory beyond it.
  bool read(std::uint64_t address, std::span<std::byte> to) override;
  /// Memory for code and its descriptions, which is kept until it is told to forget.
  [[nodiscard]] ProcessPages& code() { return code_; }

 private:
  ProcessMemory(UniqueFd memory, pid_t process)
      : memory_(std::move(memory)),
        present_(std::make_unique<const PresentPages>(process)),
        beyond_(memory_.get(), present_.get()),
        code_(memory_.get(), nullptr) {}

  UniqueFd memory_;
  std::unique_ptr<const PresentPages> present_;
  std::uint64_t stack_begin_ = 0;
  std::size_t stack_size_ = 0;
  std::vector<std::byte> stack_;
  ProcessPages beyond_;
  ProcessPages code_;
};

/// The address that stands for a system call at the inner end of a stack. It is in the kernel's half.
[[nodiscard]] std::uint64_t system_call_address(std::uint32_t number);

/// Looks at all threads of a process at intervals. Uses only what the kernel lets the process's own user see,
/// so it works if the process is stopped or hangs.
class ThreadWalker final : public SampleSource {
 public:
  /// `user` is the process's user; if this process is root, it acts as that user until the walker is
  /// destroyed. `space` is what may be executed; later changes are told to the sink. The sink subtracts
  /// `kernel_base` from the kernel's addresses. `kernel_memory` limits the bytes that the kernel keeps for
  /// files of threads; threads beyond that are still sampled, at a higher cost. Errors: the process may not
  /// be looked into.
  [[nodiscard]] static Result<std::unique_ptr<ThreadWalker>> open(pid_t process, uid_t user,
                                                                  std::uint32_t frequency,
                                                                  const AddressSpace& space,
                                                                  std::uint64_t kernel_base,
                                                                  std::uint64_t kernel_memory);

  /// Samples each thread now. One that has not run since its last sample has the same stack again; one that
  /// is running has none.
  void read(PerfSink& sink) override;
  [[nodiscard]] std::chrono::nanoseconds interval() const override { return interval_; }
  [[nodiscard]] SampleClock clock() const override { return SampleClock::wall; }
  [[nodiscard]] bool kernel() const override { return false; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Thread {
    UniqueFd schedule;  ///< /proc/PID/task/TID/schedstat; if empty, it is opened for each look.
    std::string ran;    ///< Its content at the last sample.
    std::string name;   ///< The last name told.
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
  /// The content of the thread's schedstat. Empty if the thread is gone; nothing if it can't be read now.
  [[nodiscard]] std::optional<std::string> schedule_of(pid_t number, const Thread& thread) const;
  void read_maps(PerfSink& sink);
  /// Returns false if the thread is gone.
  [[nodiscard]] bool sample(pid_t number, Thread& thread, PerfSink& sink);
  void tell_name(pid_t number, Thread& thread, PerfSink& sink) const;
  /// Returns nothing if the thread has run meanwhile, or is gone.
  [[nodiscard]] std::optional<PerfSample> look(pid_t number, const Thread& thread, const std::string& ran);
  [[nodiscard]] std::string path_of(pid_t thread, const char* file) const;

  std::optional<confinement::ActingAs> acting_;
  pid_t process_;
  std::chrono::nanoseconds interval_;
  std::uint64_t kernel_base_;
  std::size_t most_files_;  ///< The most files of threads that are kept open.
  ProcessMemory memory_;
  StackWalk walk_;
  std::map<pid_t, Thread> threads_;
  pid_t next_ = 0;  ///< The thread to begin with.
  std::optional<Clock::time_point> last_read_;
  Clock::time_point rests_until_;
  Clock::time_point threads_found_;
  Clock::time_point maps_read_ = Clock::now();
};

}  // namespace farport::router
