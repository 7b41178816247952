// /proc/PID/stat and /proc/PID/status (proc(5)), as far as they are asked for here. Any process may read them
// of any other one that it sees.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

namespace farport {

struct ProcessStat {
  /// Field 2: of what the process runs, 15 bytes at the most; the process may change it.
  std::string name;
  /// Field 3: 'R', 'S', 'T' …
  char state = '?';
  /// Field 4.
  pid_t parent = 0;
  /// Field 22: clock ticks after boot. With the pid it means one process alone.
  std::uint64_t start_time = 0;
};

/// None where the process has ended, or isn't visible here.
[[nodiscard]] std::optional<ProcessStat> process_stat(pid_t pid);

struct ProcessStatus {
  uid_t user = 0;                  ///< The effective one.
  gid_t group = 0;                 ///< The effective one.
  std::uint64_t capabilities = 0;  ///< Those that it may use: bit N for number N (linux/capability.h).
  std::uint64_t own_pid = 0;       ///< Its pid in its own pid namespace.
  bool filtered = false;           ///< Its system calls are filtered (seccomp(2)).
};

/// None where the process has ended, or isn't visible here.
[[nodiscard]] std::optional<ProcessStatus> process_status(pid_t pid);

/// The pid that the process of this pid (here) has in its own pid namespace. 0 for 0, a process that isn't
/// visible here; `pid` itself where /proc doesn't say.
[[nodiscard]] std::uint64_t pid_in_own_namespace(pid_t pid);

}  // namespace farport
