// What a check of one runtime comes to.
#pragma once

#include <string>

#include "base/finding.hpp"

namespace farport::router {

/// What an agent has given up that a check would need.
struct OwnConfinement {
  bool files = false;         ///< Landlock, which also forbids looking into processes.
  bool system_calls = false;  ///< A filter that has none of the kernel's profiling.
};

struct Verdict {
  Finding finding;
  std::string summary;  ///< Without any name: "can be dumped".
};

}  // namespace farport::router
