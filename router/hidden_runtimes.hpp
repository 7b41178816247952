// Runtimes that nobody can diagnose, because their environment says so: worth a word in the log.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/log.hpp"
#include "transport/loop.hpp"

namespace farport::router {

/// .NET processes with DOTNET_EnableDiagnostics=0 (or its COMPlus_ and _IPC forms) among those that are
/// visible in /proc. Processes choose what is read here, and may make it slow: a look blocks.
class HiddenRuntimes {
 public:
  struct Hidden {
    pid_t pid = 0;
    std::string setting;
  };
  /// Those that the looks before did not find. A look takes a limited time, and the next one goes on where it
  /// ended.
  [[nodiscard]] std::vector<Hidden> look();

 private:
  bool settles(pid_t pid, std::vector<Hidden>& found);

  using Process = std::pair<pid_t, std::uint64_t>;  ///< pid and start time.
  std::set<Process> settled_;                       ///< Nothing more to say of them.
  std::set<Process> still_there_;                   ///< Those of them that this round has met.
  pid_t next_ = 0;                                  ///< Where the next look begins.
};

/// Looks every so often on a thread of its own, and logs each once, until it is cancelled.
transport::Task<void> tell_of_hidden_runtimes(transport::Loop& loop, Log log, transport::Milliseconds every);

}  // namespace farport::router
