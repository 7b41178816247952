// Certificates and keys from PEM files, with errors that say what to do.
#pragma once

#include <string>
#include <vector>

#include <openssl/x509.h>

#include "auth/openssl.hpp"
#include "auth/tls_files.hpp"
#include "base/error.hpp"

namespace farport::auth {

/// All certificates of a PEM file, in order; at least one.
[[nodiscard]] Result<std::vector<X509Ptr>> load_certificates(const std::string& path);

/// All revocation lists of a PEM file, in order; at least one.
[[nodiscard]] Result<std::vector<X509CrlPtr>> load_crls(const std::string& path);

/// The private key of a PEM file, unencrypted.
[[nodiscard]] Result<EvpPkeyPtr> load_key(const std::string& path);

/// What to say of a file with a secret that others may read or anybody but its owner may write: "it is
/// readable by everybody (mode 0644)". Empty if it is fine. A file that cannot be looked at is fine here.
[[nodiscard]] std::string permission_warning(const std::string& path);

/// Certificates and key of one side, belonging together, and whom it trusts.
struct Credentials {
  std::vector<X509Ptr> chain;  ///< Ours first.
  EvpPkeyPtr key;
  std::vector<X509Ptr> anchors;  ///< Of the other side's certificates.
};

/// Loads a certificate and its key and checks that they are a pair. There are no anchors.
[[nodiscard]] Result<Credentials> load_pair(const std::string& cert, const std::string& key);

/// Whether our own certificate can be used on this side, today. `path` is for the message.
[[nodiscard]] Result<void> check_usable(X509* certificate, Side side, const std::string& path);

}  // namespace farport::auth
