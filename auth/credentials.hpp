// What one side of TLS shows and trusts, from whichever files it is in.
#pragma once

#include "auth/load.hpp"

namespace farport::auth {

/// Loads all that the files hold but CRLs: the three of them, or the bundle.
[[nodiscard]] Result<Credentials> load_credentials(const TlsFiles& files);

}  // namespace farport::auth
