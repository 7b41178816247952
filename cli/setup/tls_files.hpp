// From certificates as they are configured to certificates as they are read.
#pragma once

#include "auth/credentials.hpp"
#include "config/settings.hpp"

namespace farport::cli {

/// `agent`: what a mirror wants of the agent's certificate besides.
[[nodiscard]] auth::TlsFiles tls_files(const config::TlsFiles& tls, const auth::IdentityFilter& agent = {});

}  // namespace farport::cli
