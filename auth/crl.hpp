// Certificate revocation lists (RFC 5280 section 5).
#pragma once

#include <vector>

#include <openssl/x509.h>

#include "auth/credentials.hpp"
#include "auth/openssl.hpp"
#include "base/error.hpp"

namespace farport::auth {

/// Makes `store` check peers' certificates against the lists in files.crl. A peer's own certificate must be
/// covered by a list of the CA that issued it, otherwise it is refused. An intermediate CA is checked if
/// there is a list of its issuer. The CAs in files.ca are trusted without a check. Fails if the file is
/// unusable, or if a list is out of date, not yet valid, or has the name of a CA in `anchors` that did not
/// sign it.
[[nodiscard]] Result<void> use_crls(X509_STORE* store, const std::vector<X509Ptr>& anchors,
                                    const TlsFiles& files);

/// Makes one verification accept lists that are out of date, for peers that were let in before. What they
/// revoke stays revoked.
void allow_outdated_crls(X509_STORE_CTX* verification);

}  // namespace farport::auth
