// TLS contexts for both sides: TLS 1.3 only, and both sides show certificates.
#pragma once

#include <string>
#include <vector>

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "auth/credentials.hpp"
#include "auth/identity.hpp"
#include "auth/openssl.hpp"
#include "auth/rules.hpp"
#include "base/error.hpp"

namespace farport::auth {

// Certificate revocation lists (RFC 5280 section 5).

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

/// The verification result (SSL_get_verify_result) for a valid certificate of a different agent. The peer
/// gets the alert bad_certificate.
inline constexpr long kAnotherAgent = X509_V_ERR_CERT_REJECTED;

/// Makes a client's context refuse valid certificates that don't match the filter. An empty filter matches
/// all. Fails if the filter makes no sense.
[[nodiscard]] Result<void> expect_agent(SSL_CTX* context, const IdentityFilter& filter);

/// Explains such a refusal: "its common name is not orders (--verify-cn)".
[[nodiscard]] std::string what_differs(const SSL* ssl, const Identity& identity);

/// Makes the context of an agent. Peers must show a client certificate that chains to files.ca; with
/// files.crl it is also checked as use_crls() says. ALPN: "h2" if the client offers it; a client that offers
/// nothing is raw; one that offers only others is refused with no_application_protocol (RFC 7301 section
/// 3.2). No tickets, resumption or early data. Errors name the file and the problem, with a hint; that
/// includes an own certificate that is expired, not yet valid, no server's, or doesn't match the key.
[[nodiscard]] Result<SslCtxPtr> make_server_context(const TlsFiles& files);

/// Makes the context of a mirror, which offers "h2". Peers must show a server certificate that chains to
/// files.ca and matches files.agent, which is checked before ours is shown. Call set_expected_server_name()
/// for each connection.
[[nodiscard]] Result<SslCtxPtr> make_client_context(const TlsFiles& files);

/// Sets, before a client's handshake, the name that the server's certificate must have as a subject
/// alternative name (the common name does not count, RFC 9525 section 2); it is also sent as SNI. An IP
/// address, even in brackets, must be among the certificate's addresses and is not sent (RFC 6066 section 3).
/// After an error nothing would be verified, so don't connect.
[[nodiscard]] Result<void> set_expected_server_name(SSL* ssl, const std::string& name);

/// Explains a failed handshake to the people on our side, with a hint: "the agent's certificate is for
/// orders.example, not 10.0.0.2; use --server-name orders.example". `openssl_error`: ERR_peek_error() right
/// after the failed call; 0 if the peer just closed. A TLS 1.3 client learns at its first read whether the
/// server accepted its certificate (RFC 8446 appendix E.1.2); this explains that failure too.
[[nodiscard]] std::string describe_handshake_failure(SSL* ssl, unsigned long openssl_error);
/// The kind of failure, for counters: "closed", "no_certificate", "bad_certificate" (of either side) or
/// "protocol".
[[nodiscard]] std::string_view kind_of_handshake_failure(unsigned long openssl_error);

}  // namespace farport::auth
