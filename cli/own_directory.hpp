// A directory of the user's own, for what farport's processes must find of each other.
#pragma once

#include <string>

#include "base/error.hpp"

namespace farport::cli {

/// $XDG_RUNTIME_DIR/farport, else /run/user/UID/farport, else /tmp/farport-UID, made with mode 0700. Errors:
/// it is somebody else's, a link, or others may use it.
[[nodiscard]] Result<std::string> own_directory();

/// The same for a directory that is named.
[[nodiscard]] Result<std::string> own_directory_at(const std::string& path);

}  // namespace farport::cli
