// TLS contexts for both sides: TLS 1.3 only, and both sides show certificates.
#pragma once

#include <string>

#include <openssl/ssl.h>

#include "auth/credentials.hpp"
#include "auth/identity.hpp"
#include "auth/openssl.hpp"
#include "auth/rules.hpp"
#include "base/error.hpp"

namespace farport::auth {

// Which agent is meant, beyond its CA and the name that is dialled: by its names, or by its key.

/// The result (SSL_get_verify_result) on a certificate that is valid, but of another agent. The peer gets
/// the alert bad_certificate.
inline constexpr long kAnotherAgent = X509_V_ERR_CERT_REJECTED;

/// Has the handshakes of a client's context refuse a valid certificate that the filter is not for. An empty
/// filter asks for nothing. Errors: the filter can't be meant.
[[nodiscard]] Result<void> expect_agent(SSL_CTX* context, const IdentityFilter& filter);

/// After such a refusal: "its common name is not orders (--verify-cn)".
[[nodiscard]] std::string what_differs(const SSL* ssl, const Identity& identity);

/// The context of an agent. Peers must show a certificate that chains to files.ca and may be used as a
/// client's. ALPN: "h2" where the client offers it; a client that offers none is raw; one that offers only
/// others is refused with no_application_protocol (RFC 7301 section 3.2). No tickets, no resumption, no early
/// data. Errors name the file, what is wrong with it and what to do; a certificate of ours that is expired,
/// not yet valid, not a server's, or not the key's is one. With files.crl, peers' certificates are looked for
/// in the lists as use_crls() says.
[[nodiscard]] Result<SslCtxPtr> make_server_context(const TlsFiles& files);

/// The context of a mirror, which offers "h2". Peers must show a certificate that chains to files.ca and may
/// be used as a server's; call set_expected_server_name() for each connection. With
/// files.agent, a certificate that it is not for is refused too, before ours is shown.
[[nodiscard]] Result<SslCtxPtr> make_client_context(const TlsFiles& files);

/// Before a client's handshake: the name that the server's certificate must hold as a subject alternative
/// name (the common name does not count, RFC 9525 section 2), and that goes out as SNI. An IP address, also
/// in brackets, is looked for among the certificate's addresses, and there is no SNI then (RFC 6066 section
/// 3). An error means that nothing would be verified: don't connect.
[[nodiscard]] Result<void> set_expected_server_name(SSL* ssl, const std::string& name);

/// Why a handshake failed, and what to do: in words for the people on our side, whichever that is.
/// `openssl_error`: ERR_peek_error() right after the call that failed; 0 where the peer just closed the
/// connection. A TLS 1.3 client learns at its first read whether the server took its certificate (RFC 8446
/// appendix E.1.2): this explains that failure too.
/// "the agent's certificate is for orders.example, not 10.0.0.2; use --server-name orders.example"
[[nodiscard]] std::string describe_handshake_failure(SSL* ssl, unsigned long openssl_error);
/// The same for counting: "closed", "no_certificate", "bad_certificate" (either side's), or "protocol".
[[nodiscard]] std::string_view kind_of_handshake_failure(unsigned long openssl_error);

}  // namespace farport::auth
