// Fields of /proc/PID/stat and /proc/PID/status (proc(5)), which any process may read of every process it
// sees.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/ioctl.h>
#include <sys/types.h>

namespace farport {

/// "/proc/PID"
[[nodiscard]] inline std::string directory_of_process(pid_t pid) {
  return "/proc/" + std::to_string(pid);
}

struct ProcessStat {
  /// Field 1: the pid, or the thread's id.
  pid_t id = 0;
  /// Field 2: the program's name, at most 15 bytes; the process may change it.
  std::string name;
  /// Field 3: 'R', 'S', 'T' …
  char state = '?';
  /// Field 4.
  pid_t parent = 0;
  /// Fields 14 and 15: processor time used, in clock ticks.
  std::uint64_t processor_time = 0;
  /// Field 22: clock ticks after boot. Together with the pid it identifies a process.
  std::uint64_t start_time = 0;

  /// Whether it is stopped by a signal such as SIGSTOP, and not by a tracer.
  [[nodiscard]] bool is_stopped() const { return state == 'T'; }
};

/// The request of ioctl(2) for what the kernel knows of the process of a pidfd: PIDFD_GET_INFO
/// (linux/pidfd.h), which older headers don't have. It fills in a structure of this size.
inline constexpr std::size_t kPidfdInfoBytes = 64;
inline constexpr unsigned long kPidfdGetInfo = _IOC(_IOC_READ | _IOC_WRITE, 0xFF, 11, kPidfdInfoBytes);

/// Empty if the process has ended or isn't visible here.
[[nodiscard]] std::optional<ProcessStat> process_stat(pid_t pid);

/// The same for one of its threads.
[[nodiscard]] std::optional<ProcessStat> thread_stat(pid_t pid, pid_t thread);
/// The same for its threads, at most `most` of them.
[[nodiscard]] std::vector<ProcessStat> thread_stats(pid_t pid, std::size_t most);

/// The kernel function in which its first thread waits. Empty if it runs, or if that may not be read.
[[nodiscard]] std::string waiting_in(pid_t pid);

/// Converts clock ticks to a duration.
[[nodiscard]] std::chrono::milliseconds from_ticks(std::uint64_t ticks);
/// The time that was so many clock ticks after boot.
[[nodiscard]] std::chrono::system_clock::time_point time_at(std::uint64_t ticks_after_boot);

struct ProcessStatus {
  uid_t user = 0;                  ///< The effective one.
  gid_t group = 0;                 ///< The effective one.
  std::vector<gid_t> groups{};     ///< The supplementary ones.
  std::uint64_t capabilities = 0;  ///< Effective ones: bit N is capability N (linux/capability.h).
  std::uint64_t own_pid = 0;       ///< Its pid in its own pid namespace.
  std::uint64_t memory = 0;        ///< Resident and swapped, in bytes.
  std::uint64_t swapped = 0;       ///< What of that is swapped out, in bytes.
  std::uint64_t own_memory = 0;  ///< The size of what is its own and it may write to, used or not, in bytes.
  std::uint64_t own_pages = 0;   ///< What of that is resident, in bytes.
  std::uint64_t threads = 0;     ///< How many it has.
  bool filtered = false;         ///< A seccomp(2) filter applies.
};

/// Empty if the process has ended or isn't visible here.
[[nodiscard]] std::optional<ProcessStatus> process_status(pid_t pid);

/// The pid of process `pid` within its own pid namespace. 0 if `pid` is 0 or not visible here; `pid` itself
/// if /proc doesn't tell.
[[nodiscard]] std::uint64_t pid_in_own_namespace(pid_t pid);

}  // namespace farport
