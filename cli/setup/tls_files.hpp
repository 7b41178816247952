// Converting configured TLS files for auth.
#pragma once

#include "auth/credentials.hpp"
#include "config/settings.hpp"

namespace farport::cli {

/// `agent`: further conditions on an agent's certificate, for a mirror.
[[nodiscard]] auth::TlsFiles tls_files(const config::TlsFiles& tls, const auth::IdentityFilter& agent = {});

}  // namespace farport::cli
