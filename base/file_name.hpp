// Names from elsewhere as names of files.
#pragma once

#include <string>
#include <string_view>

namespace farport {

/// `name` as a file's name that every system takes, Windows included: letters, digits and . _ - + stay, all
/// else becomes _; at most 64 bytes; it begins with a letter, a digit or _ and does not end with a dot.
/// "dotnet" where nothing is left.
[[nodiscard]] std::string file_name_for(std::string_view name);

}  // namespace farport
