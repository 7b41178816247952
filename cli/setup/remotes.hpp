// Turning configured remotes into the agents to be dialled.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "auth/credentials.hpp"
#include "config/settings.hpp"
#include "router/mirror/mirror.hpp"
#include "router/wire/session_options.hpp"
#include "transport/socket.hpp"

namespace farport::cli {

// Session options from the settings.

[[nodiscard]] inline router::SessionOptions session_options(const config::SessionSettings& settings) {
  auto compression = router::Compression::automatic;
  if (settings.compression == "always") compression = router::Compression::always;
  if (settings.compression == "never") compression = router::Compression::never;
  return {settings.grace, settings.ping_interval, settings.ping_timeout, compression};
}

/// Called with what is about to be done at the other side, when farport deploys itself.
using Announce = std::function<void(const std::string&)>;
/// Prints it to standard error.
[[nodiscard]] Announce announce_on_stderr();

/// Loads each remote's certificates. Errors name the file, with a hint.
[[nodiscard]] Result<std::vector<router::MirroredAgent>> agents_of(
    const std::vector<config::RemoteSettings>& remotes, const Announce& announce = announce_on_stderr());

/// The user's name for a remote: its profile, or HOST:PORT.
[[nodiscard]] std::string name_of(const config::RemoteSettings& remote);
/// The same for several, with each address of a remote separately.
[[nodiscard]] std::vector<std::string> names_of(const std::vector<config::RemoteSettings>& remotes);
/// Settings of a mirror for the remotes. Errors as for agents_of().
[[nodiscard]] Result<router::MirrorSettings> mirror_settings(const config::ConnectSettings& settings,
                                                             const Announce& announce);

/// The configured TLS files, for auth.
/// `agent`: further conditions on an agent's certificate, for a mirror.
[[nodiscard]] auth::TlsFiles tls_files(const config::TlsFiles& tls, const auth::IdentityFilter& agent = {});

/// All addresses behind these. Does not use the thread pool, since existing threads could not be confined.
[[nodiscard]] Result<std::vector<transport::Address>> listen_addresses(
    const std::vector<config::Address>& addresses);

}  // namespace farport::cli
