// From remotes as they are configured to agents as they are dialled.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/settings.hpp"
#include "router/mirror/mirror.hpp"
#include "router/wire/session_options.hpp"

namespace farport::cli {

// From a session's settings to what both sides do.

[[nodiscard]] inline router::SessionOptions session_options(const config::SessionSettings& settings) {
  auto compression = router::Compression::automatic;
  if (settings.compression == "always") compression = router::Compression::always;
  if (settings.compression == "never") compression = router::Compression::never;
  return {settings.grace, settings.ping_interval, settings.ping_timeout, compression};
}

/// Told what is about to be done at the other side, where farport brings itself along.
using Announce = std::function<void(const std::string&)>;
/// Says it on standard error.
[[nodiscard]] Announce announce_on_stderr();

/// Loads each remote's certificates. Errors name the file and what to do.
[[nodiscard]] Result<std::vector<router::MirroredAgent>> agents_of(
    const std::vector<config::RemoteSettings>& remotes, const Announce& announce = announce_on_stderr());

/// What its user calls a remote: its profile, or HOST:PORT.
[[nodiscard]] std::string name_of(const config::RemoteSettings& remote);
/// The same of several, each of their addresses for itself.
[[nodiscard]] std::vector<std::string> names_of(const std::vector<config::RemoteSettings>& remotes);
/// What a mirror of the remotes does. Errors as above.
[[nodiscard]] Result<router::MirrorSettings> mirror_settings(const config::ConnectSettings& settings,
                                                             const Announce& announce);

}  // namespace farport::cli
