// What `farport check` says about certificates and keys.
#pragma once

#include <vector>

#include "auth/tls_context.hpp"
#include "base/finding.hpp"

namespace farport::auth {

/// Checks the files as a server or a client would use them, and continues after a problem where that makes
/// sense: subject and names, validity (a warning from 14 days before the end), chain, usage, key,
/// permissions, revocation lists. If any finding is a problem, then make_server_context() or
/// make_client_context() fails, or every peer refuses.
[[nodiscard]] std::vector<Finding> check_tls_files(const TlsFiles& files, Side side);

}  // namespace farport::auth
