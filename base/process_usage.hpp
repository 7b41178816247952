// What the process uses of the machine.
#pragma once

#include <cstdint>

namespace farport {

struct ProcessUsage {
  double cpu_seconds = 0;            ///< User and system.
  std::uint64_t resident_bytes = 0;  ///< 0 where /proc isn't there.
};
[[nodiscard]] ProcessUsage process_usage();

}  // namespace farport
