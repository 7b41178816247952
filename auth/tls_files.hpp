// What a side of TLS is made from.
#pragma once

#include <string>

#include "auth/rules.hpp"

namespace farport::auth {

/// Paths of PEM files, and what they can't say: which of the CA's agents is meant.
struct TlsFiles {
  std::string cert;   ///< Our certificate, then its intermediates.
  std::string key;    ///< Its private key, unencrypted. May be the same file.
  std::string ca;     ///< Trust anchors for the other side's certificate; each one in it is trusted as it is.
  std::string crl{};  ///< Lists of revoked certificates; empty: none is revoked.
  IdentityFilter agent{};  ///< Of a mirror: what the agent's certificate must say besides; empty: nothing.

  bool operator==(const TlsFiles&) const = default;
};

/// Which side of TLS a certificate is used on: the agent accepts and is the server, the mirror dials.
enum class Side { server, client };

}  // namespace farport::auth
