// From an agent as it is configured to an agent as it is made.
#pragma once

#include "config/settings.hpp"
#include "router/agent/agent.hpp"

namespace farport::cli {

/// Looks names of addresses up, and finds out what depends on this host: its name, and how much memory there
/// is. Errors: an address that is none of this host's, or is not what it has to be.
[[nodiscard]] Result<router::AgentSettings> agent_settings(const config::ServeSettings& settings);

/// What it shows to callers and lets in; nothing where it meets none with TLS. Errors: files that can't be
/// used.
[[nodiscard]] Result<auth::TlsCredentialsPtr> agent_credentials(const config::ServeSettings& settings);

}  // namespace farport::cli
