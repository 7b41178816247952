// An agent to mirror, as its user names it, and what its sessions need.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "auth/tls_credentials.hpp"
#include "base/text.hpp"
#include "base/proxy.hpp"
#include "router/reach/reach.hpp"
#include "transport/address.hpp"

namespace farport::router {

/// Where to dial, and the name to verify.
struct AgentAddress {
  std::string host;
  std::uint16_t port = 0;
  std::string server_name;  ///< Empty: the host.

  /// HOST:PORT.
  [[nodiscard]] std::string text() const { return authority(host, port); }
  /// What the agent's certificate must hold.
  [[nodiscard]] const std::string& verified_name() const { return server_name.empty() ? host : server_name; }
};

struct MirroredAgent {
  AgentAddress address;
  auth::TlsCredentialsPtr
      credentials;  ///< Agents with the same ones share them; null where it is reached otherwise.
  std::vector<std::string> select;             ///< Ids, pids, names, globs of what is mirrored; empty: all.
  std::string remote{};                        ///< What its user calls it: a profile, or HOST:PORT.
  std::shared_ptr<const ReachTarget> reach{};  ///< Instead of address and credentials; may be null.
  std::optional<Proxy> proxy{};                ///< On the way to the address.
  std::vector<transport::Address> accept{};    ///< Instead of being dialled, agents dial in here.
};

}  // namespace farport::router
