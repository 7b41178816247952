// From what flags and variables were given to values of settings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/flags.hpp"
#include "config/settings.hpp"

namespace farport::config {

/// Sets what `command`'s flags were given in a Configuration, or in one of its remotes. What is wrong goes to
/// `problems`, one line each, and leaves its value as it was. Lists replace those that were there.
void assign(const Given& given, std::string_view command, Configuration& target,
            std::vector<std::string>& problems);
void assign(const Given& given, std::string_view command, RemoteSettings& target,
            std::vector<std::string>& problems);

/// Sets one limit from its text: a whole number, a size ("16KiB"), or a duration ("10s", for some also
/// "off"). Errors name the limit and what it takes; for an unknown name, the one that was meant.
[[nodiscard]] Result<void> set_limit(auth::LimitSettings& limits, std::string_view name,
                                     std::string_view value);

/// The same from "NAME=VALUE".
[[nodiscard]] Result<void> set_limit(auth::LimitSettings& limits, std::string_view assignment);

/// Their names, as the file has them.
[[nodiscard]] std::vector<std::string> limit_names();

}  // namespace farport::config
