// The part of `farport check` that tries things out: listening and searching.
#pragma once

#include <vector>

#include "base/finding.hpp"
#include "config/settings.hpp"

namespace farport::cli {

/// Binds what the agent would listen on, for a moment. A port that another process has is a problem.
[[nodiscard]] std::vector<Finding> try_listening(const config::ServeSettings& settings);

/// Searches as the agent would, for two seconds: the runtimes found, and what was found and can't be used.
[[nodiscard]] std::vector<Finding> try_searching(const config::ServeSettings& settings);

}  // namespace farport::cli
