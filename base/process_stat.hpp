// /proc/PID/stat (proc(5)), as far as it is asked for here.
#pragma once

#include <cstdint>
#include <optional>

#include <sys/types.h>

namespace farport {

struct ProcessStat {
  char state = '?';  ///< Field 3: 'R', 'S', 'T' …
  std::uint64_t start_time =
      0;  ///< Field 22: clock ticks after boot. With the pid it means one process alone.
};

/// None where the process has ended, or isn't visible here.
[[nodiscard]] std::optional<ProcessStat> process_stat(pid_t pid);

}  // namespace farport
