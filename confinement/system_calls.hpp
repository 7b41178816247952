// Filters of system calls (seccomp(2)) for the agent and its helper processes.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"

namespace farport::confinement {

/// What a process does from now on.
enum class Purpose : std::uint8_t {
  serving,           ///< An agent after startup: no exec, no fork, Unix sockets only, no new code in memory.
  dialling,          ///< The same, with internet sockets.
  sampling,          ///< Samples other processes and forks; no sockets, no changes to files.
  sampling_as_root,  ///< The same; its children become other users and have no files but theirs.
  starting_readers,  ///< Forks processes that only read.
  parsing,           ///< Reads files that are open already, and writes the result.
};

/// Restricts the calling thread and what it starts, irrevocably, to the system calls that the purpose needs.
/// Others fail with ENOSYS, as on a kernel without them, since C libraries have fallbacks for newer calls.
/// Fails if the kernel can't filter.
[[nodiscard]] Result<void> filter_system_calls(Purpose purpose);

/// The name of a system call of this architecture: "futex(2)", or "system call 999" if it is unknown.
[[nodiscard]] std::string system_call_name(std::uint32_t number);

}  // namespace farport::confinement
