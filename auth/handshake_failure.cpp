// describe_handshake_failure(): turns OpenSSL's codes into an explanation and a hint.
#include <string_view>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/tls1.h>

#include "auth/identity.hpp"
#include "auth/tls_context.hpp"

namespace farport::auth {
namespace {

/// The names of both sides in a message: "the agent's certificate", "this client".
struct Sides {
  std::string peer;
  std::string self;
};

Sides sides_of(const SSL* ssl) {
  return SSL_is_server(ssl) != 0 ? Sides{"the client", "this agent"} : Sides{"the agent", "this client"};
}

/// The certificate that the peer showed, accepted or not; null if it showed none.
X509* shown_certificate(const SSL* ssl) {
  STACK_OF(X509)* chain = SSL_get0_verified_chain(ssl);
  return chain != nullptr && sk_X509_num(chain) > 0 ? sk_X509_value(chain, 0) : nullptr;
}

/// The first expired or not yet valid certificate in the peer's chain; null if there is none.
X509* untimely_certificate(const SSL* ssl) {
  STACK_OF(X509)* chain = SSL_get0_verified_chain(ssl);
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    X509* certificate = sk_X509_value(chain, i);
    if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0 ||
        X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0) {
      return certificate;
    }
  }
  return shown_certificate(ssl);
}

std::string expected_name(SSL* ssl) {
  X509_VERIFY_PARAM* parameters = SSL_get0_param(ssl);
  if (const char* host = X509_VERIFY_PARAM_get0_host(parameters, 0)) return host;
  char* address = X509_VERIFY_PARAM_get1_ip_asc(parameters);
  std::string text = address == nullptr ? "the name dialled" : address;
  OPENSSL_free(address);
  return text;
}

std::string wrong_name(SSL* ssl, const Identity& identity, const Sides& sides) {
  std::vector<std::string> names = identity.dns;
  names.insert(names.end(), identity.ips.begin(), identity.ips.end());
  if (names.empty()) {
    return sides.peer + "'s certificate (" + describe(identity) +
           ") holds no DNS name or address, and its common name does not count; issue one with: farport "
           "certs "
           "server … --dns NAME";
  }
  return fmt::format("{}'s certificate is for {}, not {}; if that is the one you mean: --server-name {}",
                     sides.peer, fmt::join(names, ", "), expected_name(ssl), names.front());
}

/// Explains why we refused the peer's certificate.
std::string refused_certificate(SSL* ssl, long verdict, const Sides& sides) {
  X509* shown = shown_certificate(ssl);
  if (shown == nullptr) return sides.peer + "'s certificate: " + X509_verify_cert_error_string(verdict);
  const Identity identity = identity_of(shown);
  const std::string whose = sides.peer + "'s certificate (" + describe(identity) + ")";
  const X509* untimely = untimely_certificate(ssl);
  const std::string subject =
      untimely == shown
          ? whose
          : whose + " is signed by " + distinguished_name(X509_get_subject_name(untimely)) + ", which";
  if (lacks_trusted_ca(verdict)) {
    return whose + " is signed by another CA (" + distinguished_name(X509_get_issuer_name(shown)) +
           ") than those of --tls-ca; both sides need certificates of a CA that the other one trusts";
  }
  switch (verdict) {
    case kAnotherAgent:
      return whose + " is valid, but " + what_differs(ssl, identity);
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return wrong_name(ssl, identity, sides);
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return subject + " expired on " + time_text(X509_get0_notAfter(untimely)) + "; it has to be renewed";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return subject + " is valid only from " + time_text(X509_get0_notBefore(untimely)) +
             "; are both hosts' clocks right?";
    case X509_V_ERR_INVALID_PURPOSE:
      return whose + (SSL_is_server(ssl) != 0 ? " is not for clients; issue one with: farport certs client"
                                              : " is not for servers; issue one with: farport certs server");
    case X509_V_ERR_CERT_REVOKED:
      return whose + " has been revoked, says the CRL of --tls-crl";
    case X509_V_ERR_UNABLE_TO_GET_CRL:
      return whose + ": --tls-crl holds no CRL of its CA (" +
             distinguished_name(X509_get_issuer_name(shown)) +
             "), so that nobody knows whether it is revoked";
    case X509_V_ERR_CRL_HAS_EXPIRED:
      return whose + ": the CRL of its CA in --tls-crl is out of date; fetch a new one from the CA";
    default:
      return whose + ": " + X509_verify_cert_error_string(verdict);
  }
}

/// "signed by CN=a, while the agent trusts CN=b", as far as the handshake shows it.
std::string issuer_against_trusted(const SSL* ssl) {
  X509* own = SSL_get_certificate(ssl);
  if (own == nullptr) return {};
  std::string text = "it is signed by " + distinguished_name(X509_get_issuer_name(own));
  const STACK_OF(X509_NAME)* trusted = SSL_get0_peer_CA_list(ssl);
  for (int i = 0; i < sk_X509_NAME_num(trusted); ++i) {
    text += (i == 0 ? ", the agent trusts " : " and ") + distinguished_name(sk_X509_NAME_value(trusted, i));
  }
  return text;
}

/// Explains the peer's alert (RFC 8446 section 6.2).
std::string received_alert(const SSL* ssl, int alert, const Sides& sides) {
  const bool server = SSL_is_server(ssl) != 0;
  X509* own = SSL_get_certificate(ssl);
  const std::string not_accepted = sides.peer + " did not accept " + sides.self + "'s certificate" +
                                   (own == nullptr ? "" : " (" + describe(identity_of(own)) + ")");
  switch (alert) {
    case TLS1_AD_UNKNOWN_CA:
      return not_accepted + ": " + (server ? "it doesn't trust the CA" : issuer_against_trusted(ssl)) +
             "; both sides need certificates of a CA that the other one trusts";
    case SSL3_AD_CERTIFICATE_EXPIRED:
      return not_accepted +
             ": it has expired, or the peer's clock is wrong, or its CRL out of date; renew it, compare the "
             "clocks";
    case SSL3_AD_CERTIFICATE_REVOKED:
      return not_accepted + ": it is revoked; issue a new one";
    case SSL3_AD_UNSUPPORTED_CERTIFICATE:
      return not_accepted + (server ? ": it is not for servers" : ": it is not for clients") +
             "; issue one with: farport certs " + (server ? "server" : "client");
    case SSL3_AD_BAD_CERTIFICATE:
    case SSL3_AD_CERTIFICATE_UNKNOWN:
      return not_accepted + (server ? "; does it hold the name or address that the client dials?"
                                    : "; is it valid by the agent's clock, and of the agent's CA?");
    case TLS1_AD_ACCESS_DENIED:
      return not_accepted +
             ": it is valid, but not allowed there; ask for an --allow-cn, --allow-dns, --allow-uri or "
             "--allow-ip";
    case TLS13_AD_CERTIFICATE_REQUIRED:
      return sides.peer + " asks for a client certificate; give --tls-cert and --tls-key";
    case TLS1_AD_PROTOCOL_VERSION:
      return sides.peer + " does not offer TLS 1.3, and farport has nothing older";
    case TLS1_AD_NO_APPLICATION_PROTOCOL:
      return sides.peer + " does not speak HTTP/2 on this port (ALPN h2); is it farport serve?";
    default:
      return sides.peer + " broke the handshake off: " + SSL_alert_desc_string_long(alert);
  }
}

std::string cut_off(const Sides& sides, bool server) {
  return sides.peer + " closed the connection during the handshake" +
         (server ? "" : "; is it farport serve, or a plaintext port, or a proxy in front of it?");
}

/// Explains a protocol error that we detected.
std::string protocol_trouble(int reason, const Sides& sides, bool server) {
  switch (reason) {
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
      return sides.peer + " speaks plaintext HTTP, not TLS; use https:// and a client certificate";
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_UNKNOWN_PROTOCOL:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_RECORD_LENGTH_MISMATCH:
    case SSL_R_LENGTH_TOO_SHORT:
    case SSL_R_UNEXPECTED_MESSAGE:
    case SSL_R_UNEXPECTED_RECORD:
    case SSL_R_BAD_RECORD_TYPE:
      return sides.peer + " doesn't speak TLS" +
             (server ? "; a dsrouter or another plaintext client needs --insecure-loopback"
                     : "; is this a plaintext port?");
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_WRONG_SSL_VERSION:
      return sides.peer + " does not offer TLS 1.3, and farport has nothing older";
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return sides.peer + " showed no certificate; it needs one of a CA in --tls-ca";
    case SSL_R_NO_APPLICATION_PROTOCOL:
      return sides.peer + " offers other protocols (ALPN), but not h2; let it offer h2 or none";
    case SSL_R_UNEXPECTED_EOF_WHILE_READING:
      return cut_off(sides, server);
    default:
      return {};
  }
}

}  // namespace

std::string_view kind_of_handshake_failure(unsigned long openssl_error) {
  if (openssl_error == 0) return "closed";
  switch (ERR_GET_REASON(openssl_error)) {
    case SSL_R_UNEXPECTED_EOF_WHILE_READING:
      return "closed";
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return "no_certificate";
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
    case SSL_AD_REASON_OFFSET + SSL3_AD_BAD_CERTIFICATE:
    case SSL_AD_REASON_OFFSET + SSL3_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_REASON_OFFSET + SSL3_AD_CERTIFICATE_REVOKED:
    case SSL_AD_REASON_OFFSET + SSL3_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_REASON_OFFSET + SSL3_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_REASON_OFFSET + TLS1_AD_UNKNOWN_CA:
      return "bad_certificate";
    default:
      return "protocol";
  }
}

std::string describe_handshake_failure(SSL* ssl, unsigned long openssl_error) {
  const Sides sides = sides_of(ssl);
  const bool server = SSL_is_server(ssl) != 0;
  const bool verifies = (SSL_get_verify_mode(ssl) & SSL_VERIFY_PEER) != 0;
  if (const long verdict = SSL_get_verify_result(ssl); verifies && verdict != X509_V_OK) {
    return refused_certificate(ssl, verdict, sides);
  }
  if (openssl_error == 0) return cut_off(sides, server);
  const int reason = ERR_GET_REASON(openssl_error);
  if (ERR_GET_LIB(openssl_error) == ERR_LIB_SSL) {
    if (reason >= SSL_AD_REASON_OFFSET) return received_alert(ssl, reason - SSL_AD_REASON_OFFSET, sides);
    std::string text = protocol_trouble(reason, sides, server);
    if (!text.empty()) return text;
  }
  return "the TLS handshake with " + sides.peer + " failed: " + openssl_error_text(openssl_error);
}

}  // namespace farport::auth
