// Where a heap goes.
#pragma once

#include <string>

#include "base/error.hpp"
#include "config/settings.hpp"
#include "heap/gcdump.hpp"

namespace farport::cli {

/// Whether the file is to hold the objects themselves, and what they refer to.
[[nodiscard]] bool wants_objects(const config::GcdumpSettings& settings);

/// What is wrong with the file, before there is a heap: the name's ending, or one that is there.
[[nodiscard]] Result<void> check_output(const config::GcdumpSettings& settings);

/// Prints the heap, or writes the file and prints its path. Errors: the system's.
[[nodiscard]] Result<void> write_output(heap::Heap heap, const heap::Origin& origin,
                                        const config::GcdumpSettings& settings);

}  // namespace farport::cli
