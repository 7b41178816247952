// Commands' names as people type them.
#pragma once

#include <string>

#include "base/error.hpp"

namespace farport::cli {

/// Whether `command` is a permission's name (auth::all_permissions()). Errors say what may have been meant.
[[nodiscard]] Result<void> check_command_name(const std::string& command);

}  // namespace farport::cli
