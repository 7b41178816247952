// createdump: the program that writes a runtime's dumps, and whether the runtime can start it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <sys/types.h>

#include "base/error.hpp"
#include "ipc/payload.hpp"
#include "router/agent/runtimes/process_root.hpp"

namespace farport::router {

/// What is known of a runtime's createdump. It lies beside the runtime's library, in the runtime's file
/// system.
struct Createdump {
  /// `inside`: the program contains the runtime (it is a single file), and what writes its full dumps.
  /// `never`: the program is compiled ahead of time, and its runtime writes no dump when it is told to.
  enum class State : std::uint8_t { unknown, there, missing, not_executable, inside, never };
  State state = State::unknown;
  std::string path;  ///< Its expected path, as the runtime sees it; empty if unknown.
  std::string why;   ///< Why it is unknown, or can't be executed.
};

/// Looks for the createdump of a runtime's process, with that process's rights. `native`: Runtime::native.
/// Calls `before_files` once it knows all but what files say: from there on it needs no right but to open
/// those. Blocks for as long as the process's file systems like.
[[nodiscard]] Createdump find_createdump(pid_t pid, bool native,
                                         const std::function<void(ProcessRoot&)>& before_files = {});

/// Why the runtime of this name can't write such a dump. Nothing if it can, or if that is not known. It must
/// not be asked then: a child that can't execute createdump takes the runtime's diagnostic socket with it, so
/// that nobody reaches the runtime any more (dotnet/runtime#133733).
[[nodiscard]] std::optional<Error> refusal_of(const Createdump& createdump, const std::string& runtime,
                                              ipc::DumpType type);

}  // namespace farport::router
