// The system calls that an agent makes once it listens; seccomp(2).
#pragma once

#include "base/error.hpp"

namespace farport::confinement {

/// Lets the calling thread, and what it starts, make the system calls of an agent that has started, and no
/// others: no programs, no processes, no sockets but Unix ones, no code in new memory. Others fail with
/// ENOSYS, as if the kernel had none: C libraries know how to do without what they have learnt to use since.
/// There is no way back. Errors: the kernel doesn't filter.
[[nodiscard]] Result<void> filter_system_calls();

}  // namespace farport::confinement
