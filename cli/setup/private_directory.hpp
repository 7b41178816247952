// A directory of its own for one `farport run` or `farport quickstart`, which goes with it.
#pragma once

#include <memory>

#include "router/mirror/owned_directory.hpp"

namespace farport::cli {

/// Makes farport-run-XXXXXX in $XDG_RUNTIME_DIR, else $TMPDIR, else /tmp: the first that this user may write
/// to and whose path is short enough for sockets. Removes what runs that were killed have left there.
[[nodiscard]] Result<std::unique_ptr<router::OwnedDirectory>> make_private_directory();

}  // namespace farport::cli
