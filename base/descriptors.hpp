// File descriptors: how many there may be, and how many there are.
#pragma once

#include <cstddef>

namespace farport {

/// Raises the soft limit (getrlimit(2), RLIMIT_NOFILE) to the hard one. Nothing here uses select(2), which is
/// what the soft limit is there for.
void raise_descriptor_limit();
/// The soft limit as it is now.
[[nodiscard]] std::size_t descriptor_limit();
/// How many are open; 0 where /proc isn't there.
[[nodiscard]] std::size_t open_descriptors();

}  // namespace farport
