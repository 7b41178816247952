// Peers that were let in, seen with the trust of a later day.
#pragma once

#include <ctime>

#include "auth/tls_credentials.hpp"

namespace farport::auth {

/// Verifies the certificate that the peer of a finished handshake has shown, as a handshake would today.
/// Gives the time at which the first certificate of its chain expires. Errors: why it would be refused;
/// Error::cause is EKEYREVOKED, EKEYEXPIRED or EKEYREJECTED. A list of revoked certificates that is out of
/// date is no reason to refuse: it was in force when the peer came.
[[nodiscard]] Result<std::time_t> reverify(SSL* ssl, const TlsCredentials& credentials);

/// When the first certificate of the peer's chain expires, as the handshake has verified it.
[[nodiscard]] std::time_t valid_until(const SSL* ssl);

/// Whether a peer that was ended for this may go on with another certificate of the same names: one that was
/// only overtaken by a rotation, not one whose certificate has been revoked.
[[nodiscard]] bool may_return(const Error& distrust);

}  // namespace farport::auth
