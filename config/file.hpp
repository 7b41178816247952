// The configuration file: TOML, one schema for the agent's side and the mirror's (docs/configuration.md).
#pragma once

#include <string>
#include <vector>

#include "config/settings.hpp"

namespace farport::config {

/// All problems of a configuration, one line each, ready to be shown. In a file: "FILE:LINE:COLUMN: what is
/// wrong".
using Problems = std::vector<std::string>;
template <typename T>
using Resolved = tl::expected<T, Problems>;

/// Reads a file. Relative paths in it refer to its directory.
[[nodiscard]] Resolved<Configuration> read_file(const std::string& path);

/// The same for a text that is treated as the file at `path`.
[[nodiscard]] Resolved<Configuration> parse_file(const std::string& text, const std::string& path);

/// The rule as an element of [[rules]], with what is not as usual.
[[nodiscard]] std::string to_toml(RuleSettings rule);

/// $XDG_CONFIG_HOME/farport/config.toml, or else ~/.config/farport/config.toml; empty if there is no home
/// directory.
[[nodiscard]] std::string default_file();

}  // namespace farport::config
