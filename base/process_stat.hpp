// /proc/PID/stat (proc(5)), as far as it is asked for here.
#pragma once

#include <cstdint>
#include <optional>

#include <sys/types.h>

namespace farport {

struct ProcessStat {
  /// Field 3: 'R', 'S', 'T' …
  char state = '?';
  /// Field 22: clock ticks after boot. With the pid it means one process alone.
  std::uint64_t start_time = 0;
};

/// None where the process has ended, or isn't visible here.
[[nodiscard]] std::optional<ProcessStat> process_stat(pid_t pid);

}  // namespace farport
