// The capabilities of root (capabilities(7)), of which an agent keeps those that it works with.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"

namespace farport::confinement {

/// A set of capabilities: bit N for the one of number N in linux/capability.h.
using Capabilities = std::uint64_t;

[[nodiscard]] Capabilities capability(int number);

/// What an agent works with that serves the runtimes of other users: it uses their sockets and directories,
/// looks into their processes, gives a dump's directory to its runtime and takes it away, and stops a dump
/// that nobody waits for.
[[nodiscard]] Capabilities agent_capabilities();

/// What sampling other processes takes: the kernel's samples of them and of itself, its functions' names, and
/// looking into them.
[[nodiscard]] Capabilities sampler_capabilities();

/// Those that the calling thread may use.
[[nodiscard]] Result<Capabilities> own_capabilities();

/// Gives up, for the calling thread and what it starts, all capabilities but those in `keep` that it has.
/// Returns what is left.
[[nodiscard]] Result<Capabilities> keep_capabilities(Capabilities keep);

/// Of the capabilities that the calling thread has, only those in `use` are in force from now on. It keeps
/// the others.
void use_capabilities(Capabilities use);

/// "chown, kill", or "none".
[[nodiscard]] std::string describe_capabilities(Capabilities set);

}  // namespace farport::confinement
