// The part of `farport check` that tries things out: listening, searching, dialling.
#pragma once

#include <vector>

#include "auth/check.hpp"
#include "config/settings.hpp"

namespace farport::cli {

/// Binds what the agent would listen on, for a moment. A port that another process has is a problem.
[[nodiscard]] std::vector<auth::Finding> try_listening(const config::ServeSettings& settings);

/// Searches as the agent would, for two seconds: the runtimes found, and what was found and can't be used.
[[nodiscard]] std::vector<auth::Finding> try_searching(const config::ServeSettings& settings);

/// Dials every agent behind the remote's addresses and asks it who it is, and who the caller is to it.
[[nodiscard]] std::vector<auth::Finding> try_dialling(const config::RemoteSettings& remote);

}  // namespace farport::cli
