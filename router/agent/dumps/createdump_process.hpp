// The process that writes a runtime's dump, createdump, which the runtime starts: how much there will be to
// write, and stopping it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

#include "ipc/payload.hpp"

namespace farport::router {

/// About how large a dump of the process will be, by what it holds in memory; nothing where that can't be
/// seen.
[[nodiscard]] std::optional<std::uint64_t> estimate_dump(pid_t runtime, ipc::DumpType type);

/// Kills the runtime's createdump that writes to `path`, so that the runtime goes on and the file grows no
/// more; other dumps of it are left alone. False where there is none to be seen, or it isn't ours to kill.
/// The runtime then answers that its dump has failed. Blocks, for as long as the runtime's processes like.
bool stop_createdump(pid_t runtime, const std::string& path);

/// Whether a signal has stopped the process.
[[nodiscard]] bool is_stopped(pid_t runtime);

/// Has a runtime go on that its writer has left stopped: a tracer stops a thread with SIGSTOP (ptrace(2),
/// PTRACE_ATTACH), which is delivered after all when the tracer is killed, and then stops the whole process.
/// For runtimes whose writer was killed; it may take a moment until they stop.
void wake_stopped(pid_t runtime);

}  // namespace farport::router
