// Runtimes that nobody can diagnose, because their environment says so: worth a word in the log.
#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "base/log.hpp"

namespace farport::router {

class HiddenRuntimes {
 public:
  /// Looks at the processes that are visible in /proc and that the last looks did not settle; logs, once
  /// each, .NET processes with DOTNET_EnableDiagnostics=0 (or its COMPlus_ and _IPC forms).
  void look(const Log& log);

 private:
  std::set<std::pair<int, std::uint64_t>> settled_;  ///< pid and start time: nothing more to say of them.
};

}  // namespace farport::router
