// What a side of TLS is made from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "auth/rules.hpp"

namespace farport::auth {

class Passphrase;

/// Paths of PEM files, and what they can't say: which of the CA's agents is meant.
struct TlsFiles {
  std::string cert;   ///< Our certificate, then its intermediates.
  std::string key;    ///< Its private key, unencrypted. May be the same file.
  std::string ca;     ///< Trust anchors for the other side's certificate; each one in it is trusted as it is.
  std::string crl{};  ///< Lists of revoked certificates; empty: none is revoked.
  IdentityFilter agent{};  ///< Of a mirror: what the agent's certificate must say besides; empty: nothing.
  bool bundled = false;    ///< cert, key and ca are one file: a bundle, whose key may be encrypted.
  std::string passphrase_file{};                      ///< What opens it; empty: `passphrase`.
  std::shared_ptr<const Passphrase> passphrase = {};  ///< As it was typed; null: it needs none.

  /// A bundle alone.
  [[nodiscard]] static TlsFiles of_bundle(const std::string& path);
  /// Each file that is read, once.
  [[nodiscard]] std::vector<std::string> paths() const;

  bool operator==(const TlsFiles&) const = default;
};

/// Which side of TLS a certificate is used on: the agent accepts and is the server, the mirror dials.
enum class Side { server, client };

}  // namespace farport::auth
