#include "cli/remotes.hpp"

#include "auth/tls_context.hpp"

namespace farport::cli {

Result<std::vector<router::MirroredAgent>> agents_of(const std::vector<config::RemoteSettings>& remotes) {
  std::vector<router::MirroredAgent> agents;
  for (const config::RemoteSettings& remote : remotes) {
    auto context = auth::make_client_context({remote.tls.cert, remote.tls.key, remote.tls.ca});
    if (!context) return tl::unexpected(context.error());
    const std::shared_ptr<SSL_CTX> shared(std::move(*context));
    for (const config::Address& address : remote.addresses) {
      agents.push_back({{address.host, address.port, remote.server_name}, shared, remote.select});
    }
  }
  return agents;
}

}  // namespace farport::cli
