// What this process uses of the machine, what it may use, and giving memory back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

namespace farport {

struct ProcessUsage {
  double cpu_seconds = 0;            ///< User and system.
  std::uint64_t resident_bytes = 0;  ///< 0 where /proc isn't there.
};
[[nodiscard]] ProcessUsage process_usage();

// What the process holds in memory, and giving it back.

/// From now on pieces of memory of 256 KiB and more, such as a compressor's, are given back when they are
/// freed.
void return_large_memory();

/// Gives back free heap.
void return_free_memory();

/// Gives back what starting up needed: free heap, and pages of program text and constants, which the kernel
/// maps again when they are used again. Starting touches most of the libraries' code once; serving needs
/// little of it. Once only: each time costs the next command page faults, and a debugger its breakpoints.
void release_start_memory();

/// How much memory this process may use at most, by what the system has set for it.
/// The least memory limit of this process's control groups, in bytes: memory.max of version 2 (Linux,
/// Documentation/admin-guide/cgroup-v2.rst), memory.limit_in_bytes of version 1, with those of the groups
/// around it as far as they are visible. Nothing: there is none. `root`: of the file system, for tests.
[[nodiscard]] std::optional<std::uint64_t> memory_limit(const std::string& root = "");

// Limits of what this process may use (setrlimit(2)), and how long it may live, for good.

/// So many seconds of processor time; then the kernel ends it.
void limit_processor_time(std::uint32_t seconds);

/// So much memory of its own beside what it has now; then there is none to be had (std::bad_alloc). The
/// sanitizers take more than any limit: with them there is none. `for_children`: so much more may a process
/// have that this one forks, where it is limited in turn.
void limit_memory(std::uint64_t more_bytes, std::uint64_t for_children = 0);

/// Where the memory of a control group is used up the kernel ends this process, or one that it starts, before
/// others there: the one of them that has most (proc(5), /proc/PID/oom_score_adj).
void be_ended_first();

/// The kernel kills this process when its parent ends, and it ends now if `parent` is not its parent any
/// more. To be called again after a change of user (prctl(2), PR_SET_PDEATHSIG).
void end_with(pid_t parent);

// File descriptors: how many there may be, and how many there are.

/// Raises the soft limit (getrlimit(2), RLIMIT_NOFILE) to the hard one. Nothing here uses select(2), which is
/// what the soft limit is there for.
void raise_descriptor_limit();
/// The soft limit as it is now.
[[nodiscard]] std::size_t descriptor_limit();
/// How many are open; 0 where /proc isn't there.
[[nodiscard]] std::size_t open_descriptors();

}  // namespace farport
