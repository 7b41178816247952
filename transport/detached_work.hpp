// Work that may never end, such as reading what another process can hold up: a thread of its own.
#pragma once

#include <functional>
#include <optional>

#include "base/error.hpp"
#include "transport/loop.hpp"

namespace farport::transport {

/// Runs `work` on a new thread, and passes when it has ended. Neither cancelling this nor the end of the
/// program waits for the thread, so whatever `work` uses must belong to it, by a shared_ptr for example.
/// Errors: it has thrown an exception; it has not ended within `limit`, and may still be at it; or there are
/// no descriptors or no threads for it, and it has not begun.
Task<Result<void>> run_detached(Loop& loop, std::function<void()> work,
                                std::optional<Milliseconds> limit = {});

}  // namespace farport::transport
