// The system calls that an agent makes once it listens, and those of its helpers; seccomp(2).
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"

namespace farport::confinement {

/// What a process does from then on.
enum class Purpose : std::uint8_t {
  serving,   ///< An agent that has started: no programs, no processes, no sockets but Unix ones, no code in
             ///< new memory.
  dialling,  ///< The same, with sockets of the Internet's.
  sampling,  ///< Has the kernel sample others, and starts copies of itself: no sockets, nothing is changed.
  sampling_as_root,  ///< The same; its copies become other users, and have their files alone.
  starting_readers,  ///< Starts copies of itself that only read.
  parsing,           ///< Reads what is open already, and writes what it has found out there.
};

/// Lets the calling thread, and what it starts, make the system calls that its purpose takes, and no others.
/// Those fail with ENOSYS, as if the kernel had none: C libraries know how to do without what they have
/// learnt to use since. There is no way back. Errors: the kernel doesn't filter.
[[nodiscard]] Result<void> filter_system_calls(Purpose purpose);

/// What a system call of this architecture is called: "futex(2)". One that is not known: "system call 999".
[[nodiscard]] std::string system_call_name(std::uint32_t number);

}  // namespace farport::confinement
