// From remotes as they are configured to agents as they are dialled.
#pragma once

#include <string>
#include <vector>

#include "config/settings.hpp"
#include "router/mirror/mirror.hpp"

namespace farport::cli {

/// Loads each remote's certificates. Errors name the file and what to do.
[[nodiscard]] Result<std::vector<router::MirroredAgent>> agents_of(
    const std::vector<config::RemoteSettings>& remotes);

/// What its user calls a remote: its profile, or HOST:PORT.
[[nodiscard]] std::string name_of(const config::RemoteSettings& remote);
/// The same of several, each of their addresses for itself.
[[nodiscard]] std::vector<std::string> names_of(const std::vector<config::RemoteSettings>& remotes);
/// What a mirror of the remotes does. Errors as above.
[[nodiscard]] Result<router::MirrorSettings> mirror_settings(const config::ConnectSettings& settings);

}  // namespace farport::cli
