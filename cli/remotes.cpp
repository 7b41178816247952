#include "cli/remotes.hpp"

#include <algorithm>

namespace farport::cli {
namespace {

bool same(const auth::TlsFiles& files, const config::TlsFiles& others) {
  return files.cert == others.cert && files.key == others.key && files.ca == others.ca &&
         files.crl == others.crl;
}

}  // namespace

Result<std::vector<router::MirroredAgent>> agents_of(const std::vector<config::RemoteSettings>& remotes) {
  std::vector<router::MirroredAgent> agents;
  for (const config::RemoteSettings& remote : remotes) {
    const config::TlsFiles& tls = remote.tls;
    const auto known = std::find_if(agents.begin(), agents.end(), [&](const router::MirroredAgent& agent) {
      return same(agent.credentials->files(), tls);
    });
    auth::TlsCredentialsPtr credentials;
    if (known != agents.end()) {
      credentials = known->credentials;
    } else {
      auto loaded = auth::TlsCredentials::load({tls.cert, tls.key, tls.ca, tls.crl}, auth::Side::client);
      if (!loaded) return tl::unexpected(loaded.error());
      credentials = std::move(*loaded);
    }
    for (const config::Address& address : remote.addresses) {
      agents.push_back({{address.host, address.port, remote.server_name}, credentials, remote.select});
    }
  }
  return agents;
}

}  // namespace farport::cli
