// Bundles: one PEM file with all that one side needs, which is its certificate, the private key and the CA.
#pragma once

#include <string>

#include "auth/load.hpp"
#include "auth/passphrase.hpp"

namespace farport::auth {

/// Reads a bundle. Ours is the certificate that the key belongs to; those that are self-signed are the
/// anchors; the rest are our intermediates. The order doesn't matter. The key may be PKCS#8, encrypted by
/// PBES2 with PBKDF2 (RFC 8018) and no more than 2,000,000 iterations: reading takes a bounded time.
/// Errors: anything missing, a second private key, no passphrase where one is needed; a wrong one has the
/// cause EKEYREJECTED.
[[nodiscard]] Result<Credentials> load_bundle(const TlsFiles& files);

/// Whether a bundle's key asks for a passphrase. False for a file that can't be read.
[[nodiscard]] bool is_encrypted_bundle(const std::string& path);

/// What a bundle of NAME.crt, NAME.key and ca.crt in `directory` holds. Errors: anything that a bundle can't
/// be of, such as a certificate of another CA; and the CA's own certificate and key, since that key goes
/// nowhere.
[[nodiscard]] Result<Credentials> load_issued(const std::string& directory, const std::string& name);

/// Writes a bundle with mode 0600; with a passphrase its key is encrypted (PBES2: AES-256-CBC, PBKDF2 with
/// HMAC-SHA256 and 600,000 iterations). A file that exists is an error, or with `overwrite` replaced by
/// renaming a new one over it; links are not followed.
[[nodiscard]] Result<void> write_bundle(const std::string& path, const Credentials& credentials,
                                        const Passphrase* passphrase, bool overwrite);

}  // namespace farport::auth
