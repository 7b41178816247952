// /proc/PID/stat and /proc/PID/status (proc(5)), as far as they are asked for here. Any process may read them
// of any other one that it sees.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace farport {

struct ProcessStat {
  /// Field 2: of what the process runs, 15 bytes at the most; the process may change it.
  std::string name;
  /// Field 3: 'R', 'S', 'T' …
  char state = '?';
  /// Field 4.
  pid_t parent = 0;
  /// Fields 14 and 15: the processor time that it has used, in clock ticks.
  std::uint64_t processor_time = 0;
  /// Field 22: clock ticks after boot. With the pid it means one process alone.
  std::uint64_t start_time = 0;

  /// By a signal, as SIGSTOP; not by a tracer.
  [[nodiscard]] bool is_stopped() const { return state == 'T'; }
};

/// None where the process has ended, or isn't visible here.
[[nodiscard]] std::optional<ProcessStat> process_stat(pid_t pid);

/// The same of each of its threads, but of no more than `most`.
[[nodiscard]] std::vector<ProcessStat> thread_stats(pid_t pid, std::size_t most);

/// Where in the kernel its first thread waits: a function's name. Empty where it runs, or that may not be
/// seen.
[[nodiscard]] std::string waiting_in(pid_t pid);

/// Clock ticks as a length of time.
[[nodiscard]] std::chrono::milliseconds from_ticks(std::uint64_t ticks);
/// The time that was so many clock ticks after boot.
[[nodiscard]] std::chrono::system_clock::time_point time_at(std::uint64_t ticks_after_boot);

struct ProcessStatus {
  uid_t user = 0;                  ///< The effective one.
  gid_t group = 0;                 ///< The effective one.
  std::uint64_t capabilities = 0;  ///< Those that it may use: bit N for number N (linux/capability.h).
  std::uint64_t own_pid = 0;       ///< Its pid in its own pid namespace.
  std::uint64_t memory = 0;        ///< Resident and in swap, in bytes.
  bool filtered = false;           ///< Its system calls are filtered (seccomp(2)).
};

/// None where the process has ended, or isn't visible here.
[[nodiscard]] std::optional<ProcessStatus> process_status(pid_t pid);

/// The pid that the process of this pid (here) has in its own pid namespace. 0 for 0, a process that isn't
/// visible here; `pid` itself where /proc doesn't say.
[[nodiscard]] std::uint64_t pid_in_own_namespace(pid_t pid);

}  // namespace farport
