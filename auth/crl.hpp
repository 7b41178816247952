// Certificate revocation lists (RFC 5280 section 5).
#pragma once

#include <vector>

#include <openssl/x509.h>

#include "auth/credentials.hpp"
#include "auth/openssl.hpp"
#include "base/error.hpp"

namespace farport::auth {

/// Has `store` look peers' certificates up in the lists of files.crl. A peer's own certificate must be
/// covered by a list of the CA that issued it: without one it is refused, since nothing is known of it. An
/// intermediate CA is looked up where there is a list of its issuer. Those of files.ca are trusted as they
/// are.
/// Errors: what is wrong with the file; a list that is out of date, or not yet valid; one of a CA of
/// `anchors` that this CA has not signed.
[[nodiscard]] Result<void> use_crls(X509_STORE* store, const std::vector<X509Ptr>& anchors,
                                    const TlsFiles& files);

/// Has one verification take a list that has become out of date for what it was: for peers that were let in
/// while it was not. Whatever it revokes stays revoked.
void allow_outdated_crls(X509_STORE_CTX* verification);

}  // namespace farport::auth
