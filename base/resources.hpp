// Resources of this process: usage, limits, memory and file descriptors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <sys/types.h>

namespace farport {

struct ProcessUsage {
  double cpu_seconds = 0;            ///< User and system.
  std::uint64_t resident_bytes = 0;  ///< 0 if /proc is not available.
};
[[nodiscard]] ProcessUsage process_usage();

/// From now on, freed blocks of 256 KiB and more, such as a compressor's, go back to the system at once.
void return_large_memory();

/// Gives free heap memory back to the system, and pages of program text and constants, which the kernel maps
/// again on use. Startup touches most of the libraries' code once; serving needs little of it. Call it when
/// little is to be done: it costs page faults later, and a debugger its breakpoints.
void release_unused_memory();

/// Gives the memory of the whole pages in `block` back to the system. What was in them is lost.
void drop_pages(std::span<std::byte> block);

/// The smallest memory limit of this process's control groups, in bytes: memory.max of version 2 (Linux,
/// Documentation/admin-guide/cgroup-v2.rst) or memory.limit_in_bytes of version 1, including visible parent
/// groups. Empty if there is no limit. `root`: of the file system, for tests.
[[nodiscard]] std::optional<std::uint64_t> memory_limit(const std::string& root = "");

/// The file in which the kernel counts the processes of this one's control group that it has killed because
/// the group ran out of memory: memory.events of version 2, memory.oom_control of version 1. Empty if there
/// is none, or it can't be read here. `root` as above.
[[nodiscard]] std::string oom_file_of(pid_t pid, const std::string& root = "");
/// The number in such a file; nothing if it is gone.
[[nodiscard]] std::optional<std::uint64_t> oom_kills(const std::string& oom_file);

/// Limits this process's processor time for good (setrlimit(2)); beyond it the kernel kills the process.
void limit_processor_time(std::uint32_t seconds);

/// Limits how much more memory this process may allocate, for good (setrlimit(2)); beyond it allocations fail
/// (std::bad_alloc). `for_children`: additional room for children that it forks and that set limits of their
/// own. Does nothing with sanitizers, which exceed any limit.
void limit_memory(std::uint64_t more_bytes, std::uint64_t for_children = 0);

/// If a control group runs out of memory, the kernel kills this process or its children before others
/// (proc(5), /proc/PID/oom_score_adj).
void prefer_as_oom_victim();

/// Makes the kernel kill this process when its parent ends; exits now if the parent is no longer `parent`.
/// Call it again after a change of user (prctl(2), PR_SET_PDEATHSIG).
void end_with_parent(pid_t parent);

/// Raises the soft limit of descriptors (getrlimit(2), RLIMIT_NOFILE) to the hard one. The soft limit exists
/// for select(2), which nothing here uses.
void raise_descriptor_limit();
/// The current soft limit of descriptors.
[[nodiscard]] std::size_t descriptor_limit();
/// How many descriptors are open; 0 if /proc is not available.
[[nodiscard]] std::size_t open_descriptors();

}  // namespace farport
