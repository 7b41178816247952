// Work on what others have made, in a process of its own: where it goes wrong, only its result is missing.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/error.hpp"

namespace farport::router {

/// Runs `work` in a process that may use no more than a few seconds of the processor and so much time at all,
/// and `memory` bytes beside what this process has; returns what `work` has returned there. Errors: it has
/// crashed, or has taken too long.
[[nodiscard]] Result<std::string> run_isolated(const std::function<std::string()>& work,
                                               std::chrono::milliseconds limit, std::uint64_t memory);

}  // namespace farport::router
