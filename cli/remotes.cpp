#include "cli/remotes.hpp"

#include <algorithm>

#include "cli/session_options.hpp"
#include "config/values.hpp"

namespace farport::cli {
namespace {

auth::TlsFiles files_of(const config::RemoteSettings& remote) {
  const config::TlsFiles& tls = remote.tls;
  return {tls.cert, tls.key, tls.ca, tls.crl, remote.verify};
}

Result<std::shared_ptr<const router::Reach>> reach_of(const config::RemoteSettings& remote) {
  if (!remote.via.empty()) return router::reach_by_shell(remote.via);
  return router::reach_of(remote.reach);
}

}  // namespace

Result<std::vector<router::MirroredAgent>> agents_of(const std::vector<config::RemoteSettings>& remotes) {
  std::vector<router::MirroredAgent> agents;
  for (const config::RemoteSettings& remote : remotes) {
    if (remote.addresses.empty()) {
      auto reach = reach_of(remote);
      if (!reach) return tl::unexpected(reach.error());
      agents.push_back({{}, {}, remote.select, name_of(remote), std::move(*reach)});
      continue;
    }
    const auth::TlsFiles files = files_of(remote);
    const auto known = std::find_if(agents.begin(), agents.end(), [&](const router::MirroredAgent& agent) {
      return agent.credentials != nullptr && agent.credentials->files() == files;
    });
    auth::TlsCredentialsPtr credentials;
    if (known != agents.end()) {
      credentials = known->credentials;
    } else {
      auto loaded = auth::TlsCredentials::load(files, auth::Side::client);
      if (!loaded) return tl::unexpected(loaded.error());
      credentials = std::move(*loaded);
    }
    for (const config::Address& address : remote.addresses) {
      agents.push_back(
          {{address.host, address.port, remote.server_name}, credentials, remote.select, name_of(remote)});
    }
  }
  return agents;
}

std::string name_of(const config::RemoteSettings& remote) {
  if (!remote.profile.empty()) return remote.profile;
  if (!remote.addresses.empty()) return config::to_string(remote.addresses.front());
  return remote.via.empty() ? remote.reach : remote.via;
}

std::vector<std::string> names_of(const std::vector<config::RemoteSettings>& remotes) {
  std::vector<std::string> names;
  for (const config::RemoteSettings& remote : remotes) {
    if (!remote.profile.empty() || remote.addresses.empty()) {
      names.push_back(name_of(remote));
    } else {
      for (const config::Address& address : remote.addresses) names.push_back(to_string(address));
    }
  }
  return names;
}

Result<router::MirrorSettings> mirror_settings(const config::ConnectSettings& settings) {
  auto agents = agents_of(settings.remotes);
  if (!agents) return tl::unexpected(agents.error());
  router::MirrorSettings mirror{std::move(*agents), settings.socket_dir};
  mirror.session = session_options(settings.session);
  for (const config::NamedSocket& socket : settings.sockets) {
    mirror.sockets.push_back({socket.name, socket.path});
  }
  for (const config::NamedSocket& tool : settings.tools) mirror.tools.push_back({tool.name, tool.path});
  return mirror;
}

}  // namespace farport::cli
