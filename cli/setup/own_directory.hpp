// A directory of the user's own, for what farport's processes must find of each other.
#pragma once

#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "router/mirror/owned_directory.hpp"

namespace farport::cli {

/// A directory of its own for one `farport run` or `farport quickstart`, which goes with it.
/// Makes farport-run-XXXXXX in $XDG_RUNTIME_DIR, else $TMPDIR, else /tmp: the first that this user may write
/// to and whose path is short enough for sockets. Removes what runs that were killed have left there.
[[nodiscard]] Result<std::unique_ptr<router::OwnedDirectory>> make_private_directory();

/// $XDG_RUNTIME_DIR/farport, else /run/user/UID/farport, else /tmp/farport-UID, made with mode 0700. Errors:
/// it is somebody else's, a link, or others may use it.
[[nodiscard]] Result<std::string> own_directory();

/// Opens a directory that must be such a one. What is reached through it stays in it, even where others may
/// rename what lies on its path.
[[nodiscard]] Result<UniqueFd> open_own_directory(const std::string& path);

/// Makes or takes a directory that is named, which must be such a one.
[[nodiscard]] Result<std::string> own_directory_at(const std::string& path);

}  // namespace farport::cli
