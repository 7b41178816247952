#include "cli/setup/remotes.hpp"

#include <algorithm>

#include "cli/terminal/table.hpp"
#include "config/values.hpp"
#include "router/reach/named_reach.hpp"

namespace farport::cli {
namespace {

router::Deploy::Way way_of(const std::string& word) {
  using Way = router::Deploy::Way;
  return word == "never"       ? Way::never
         : word == "ephemeral" ? Way::ephemeral
         : word == "copy"      ? Way::copy
                               : Way::automatic;
}

Result<std::shared_ptr<const router::ReachTarget>> reach_of(const config::RemoteSettings& remote,
                                                            const Announce& announce) {
  if (!remote.via.empty()) return router::reach_by_shell(remote.via);
  return router::reach_of(remote.reach, {way_of(remote.deploy), remote.image,
                                         std::make_shared<router::StaticProgramFile>(remote.static_binary),
                                         announce, remote.profiles, remote.linger});
}

}  // namespace

Announce announce_on_stderr() {
  return [](const std::string& what) { print_message(what); };
}

Result<std::vector<router::MirroredAgent>> agents_of(const std::vector<config::RemoteSettings>& remotes,
                                                     const Announce& announce) {
  std::vector<router::MirroredAgent> agents;
  for (const config::RemoteSettings& remote : remotes) {
    if (remote.addresses.empty() && remote.accept.empty()) {
      ASSIGN_OR_RETURN(auto reach, reach_of(remote, announce));
      agents.push_back({{}, {}, remote.select, name_of(remote), std::move(reach)});
      continue;
    }
    const auth::TlsFiles files = tls_files(remote.tls, remote.verify);
    const auto known = std::find_if(agents.begin(), agents.end(), [&](const router::MirroredAgent& agent) {
      return agent.credentials != nullptr && agent.credentials->files() == files;
    });
    auth::TlsCredentialsPtr credentials;
    if (known != agents.end()) {
      credentials = known->credentials;
    } else {
      ASSIGN_OR_RETURN(auto loaded, auth::TlsCredentials::load(files, auth::Side::client));
      credentials = std::move(loaded);
    }
    for (const config::Address& address : remote.addresses) {
      agents.push_back(
          {{address.host, address.port, remote.server_name}, credentials, remote.select, name_of(remote)});
      agents.back().proxy = remote.proxy.towards(address.host);
    }
    if (remote.accept.empty()) continue;
    ASSIGN_OR_RETURN(auto accept, listen_addresses(remote.accept));
    agents.push_back({{{}, 0, remote.server_name}, credentials, remote.select, name_of(remote)});
    agents.back().accept = std::move(accept);
  }
  return agents;
}

std::string name_of(const config::RemoteSettings& remote) {
  if (!remote.profile.empty()) return remote.profile;
  if (!remote.addresses.empty()) return config::to_string(remote.addresses.front());
  if (!remote.accept.empty()) return config::to_string(remote.accept.front());
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

Result<router::MirrorSettings> mirror_settings(const config::ConnectSettings& settings,
                                               const Announce& announce) {
  ASSIGN_OR_RETURN(auto agents, agents_of(settings.remotes, announce));
  return router::MirrorSettings{std::move(agents), settings.socket_dir, settings.sockets, settings.tools,
                                session_options(settings.session)};
}

auth::TlsFiles tls_files(const config::TlsFiles& tls, const auth::IdentityFilter& agent) {
  auth::TlsFiles files = auth::TlsFiles::of_bundle(tls.bundle);
  if (tls.bundle.empty()) files = {tls.cert, tls.key, tls.ca};
  files.crl = tls.crl;
  files.agent = agent;
  files.passphrase_file = tls.passphrase_file;
  files.passphrase = tls.passphrase;
  return files;
}

Result<std::vector<transport::Address>> listen_addresses(const std::vector<config::Address>& addresses) {
  std::vector<transport::Address> all;
  for (const config::Address& address : addresses) {
    ASSIGN_OR_RETURN(const auto resolved, transport::resolve_here(address.host, address.port));
    all.insert(all.end(), resolved.begin(), resolved.end());
  }
  return all;
}

}  // namespace farport::cli
