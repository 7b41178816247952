// Which agent is meant, beyond its CA and the name that is dialled: by its names, or by its key.
#pragma once

#include <string>

#include <openssl/ssl.h>

#include "auth/identity.hpp"
#include "auth/rules.hpp"
#include "base/error.hpp"

namespace farport::auth {

/// The result (SSL_get_verify_result) on a certificate that is valid, but of another agent. The peer gets
/// the alert bad_certificate.
inline constexpr long kAnotherAgent = X509_V_ERR_CERT_REJECTED;

/// Has the handshakes of a client's context refuse a valid certificate that the filter is not for. An empty
/// filter asks for nothing. Errors: the filter can't be meant.
[[nodiscard]] Result<void> expect_agent(SSL_CTX* context, const IdentityFilter& filter);

/// After such a refusal: "its common name is not orders (--verify-cn)".
[[nodiscard]] std::string what_differs(const SSL* ssl, const Identity& identity);

}  // namespace farport::auth
