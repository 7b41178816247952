// Capabilities: sets of root's capabilities (capabilities(7)), and keeping only those that are needed.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"

namespace farport::confinement {

/// A set of capabilities: bit N is number N of linux/capability.h.
using Capabilities = std::uint64_t;

[[nodiscard]] Capabilities capability(int number);

/// The capabilities of an agent that serves other users' runtimes. It uses their sockets and directories,
/// looks into their processes, hands a dump's directory to its runtime and takes it back, and kills dumps
/// that nobody waits for.
[[nodiscard]] Capabilities agent_capabilities();

/// The capabilities for sampling other processes: samples by the kernel including its own functions, their
/// names, and looking into processes.
[[nodiscard]] Capabilities sampler_capabilities();

/// The calling thread's effective capabilities.
[[nodiscard]] Result<Capabilities> own_capabilities();

/// Drops all capabilities that are not in `keep`, for the calling thread and what it starts. Returns what is
/// left.
[[nodiscard]] Result<Capabilities> keep_capabilities(Capabilities keep);

/// Makes only the capabilities in `use` effective for the calling thread, as far as it has them. The others
/// stay permitted.
void use_capabilities(Capabilities use);

/// "chown, kill", or "none".
[[nodiscard]] std::string describe_capabilities(Capabilities set);

}  // namespace farport::confinement
