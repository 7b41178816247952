// Resources of this process: usage, limits, memory and file descriptors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/unique_fd.hpp"

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

/// A file of a control group.
struct ControlGroupFile {
  std::string path{};
  UniqueFd open{};  ///< If it is open, it is read so, since its path may belong to another process's root.

  /// What it says now; empty if it can't be read.
  [[nodiscard]] std::string text() const;
};

/// The files of a memory control group, of version 2 or 1.
struct MemoryGroupFiles {
  int version = 2;
  ControlGroupFile kills;  ///< memory.events or memory.oom_control
  ControlGroupFile usage;  ///< memory.current or memory.usage_in_bytes
  ControlGroupFile limit;  ///< memory.max or memory.limit_in_bytes
  ControlGroupFile stat;   ///< memory.stat

  [[nodiscard]] static MemoryGroupFiles in(const std::string& directory, int version);
};
/// The files of a process's memory control group and of its parents, the own one first, as far as this
/// process sees them. None if its own can't be read here. `root` as above.
[[nodiscard]] std::vector<MemoryGroupFiles> memory_groups_of(pid_t pid, const std::string& root = "");

/// How many processes of the group the kernel has killed because the group ran out of memory; nothing if it
/// is gone.
[[nodiscard]] std::optional<std::uint64_t> oom_kills(const MemoryGroupFiles& group);

/// How much of a limit is used, in bytes. What was read from files and can be given back at once does not
/// count, as it does not for kubelet.
struct MemoryUse {
  std::uint64_t used = 0;
  std::uint64_t limit = 0;
  /// What can still be had before the kernel kills a process. It gives all back that was read from files.
  std::uint64_t room = 0;
};
/// Nothing if the group has no limit, or can't be read.
[[nodiscard]] std::optional<MemoryUse> memory_use(const MemoryGroupFiles& group);

/// How many bytes of memory the host can still give (proc(5): MemAvailable and SwapFree). Nothing if it does
/// not tell, or if this process has a limit of its own, of which a container may tell instead.
[[nodiscard]] std::optional<std::uint64_t> available_memory();

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
