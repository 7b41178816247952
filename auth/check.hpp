// What `farport check` says about certificates and keys.
#pragma once

#include <vector>

#include "auth/tls_context.hpp"
#include "base/finding.hpp"

namespace farport::auth {

/// Looks at the files as a server or a client would, and goes on after a problem where that makes
/// sense: subject and names, validity (a warning from 14 days before its end), chain, usage, key,
/// permissions, revocation lists. With a problem among the findings, make_server_context() or
/// make_client_context() fails, or every peer refuses.
[[nodiscard]] std::vector<Finding> check_tls_files(const TlsFiles& files, Side side);

}  // namespace farport::auth
