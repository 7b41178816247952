// Noticing that a process has ended.
#pragma once

#include <sys/types.h>

#include "transport/loop.hpp"

namespace farport::transport {

/// A pidfd of the process; none where it has ended, or isn't visible here. Open it before an answer of the
/// process comes: a process that answers lived then, so the descriptor is of that process and not of a later
/// one with the same pid.
[[nodiscard]] UniqueFd open_pidfd(pid_t pid);

/// When the process began, in clock ticks after boot; 0 where it isn't visible here.
[[nodiscard]] std::uint64_t start_of(pid_t pid);

/// Whether the process behind the pidfd has ended already.
[[nodiscard]] bool has_ended(const UniqueFd& pidfd);

/// Passes when the process behind the pidfd has ended.
Task<void> process_exit(Loop& loop, UniqueFd pidfd);

}  // namespace farport::transport
