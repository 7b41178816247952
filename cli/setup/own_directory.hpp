// Private directories of the user, where farport's processes find each other.
#pragma once

#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "router/mirror/owned_directory.hpp"

namespace farport::cli {

/// Makes a directory for one `farport run` or `farport quickstart`, removed with the object:
/// farport-run-XXXXXX in $XDG_RUNTIME_DIR, else $TMPDIR, else /tmp, whichever is writable and has a path
/// short enough for sockets. Also removes what killed runs left there.
[[nodiscard]] Result<std::unique_ptr<router::OwnedDirectory>> make_private_directory();

/// Makes, if needed, with mode 0700: $XDG_RUNTIME_DIR/farport, else /run/user/UID/farport, else
/// /tmp/farport-UID. Fails if it belongs to another user, is a link, or others may use it.
[[nodiscard]] Result<std::string> own_directory();

/// Opens a directory that must meet these conditions. Access through the descriptor stays in it, even if
/// others rename parts of its path.
[[nodiscard]] Result<UniqueFd> open_own_directory(const std::string& path);

/// Makes or uses the directory at `path`, which must meet these conditions.
[[nodiscard]] Result<std::string> own_directory_at(const std::string& path);

}  // namespace farport::cli
