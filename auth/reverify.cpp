#include "auth/reverify.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>

#include <openssl/err.h>

#include "auth/crl.hpp"
#include "auth/identity.hpp"
#include "auth/openssl.hpp"

namespace farport::auth {
namespace {

std::time_t first_end(const STACK_OF(X509) * chain) {
  std::time_t first = std::numeric_limits<std::time_t>::max();
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    std::tm parts{};
    if (ASN1_TIME_to_tm(X509_get0_notAfter(sk_X509_value(chain, i)), &parts) != 1) continue;
    first = std::min(first, timegm(&parts));
  }
  return first;
}

std::string subject_of(const X509* certificate) {
  return distinguished_name(X509_get_subject_name(certificate));
}

tl::unexpected<Error> distrust(const X509* leaf, const std::string& why, int code) {
  Error error{"keep the connection of", describe(identity_of(leaf)), why, {}, code};
  return tl::unexpected(std::move(error));
}

tl::unexpected<Error> explain(X509_STORE_CTX* verification, const X509* leaf) {
  const int verdict = X509_STORE_CTX_get_error(verification);
  const X509* current = X509_STORE_CTX_get_current_cert(verification);
  const bool own = current == nullptr || current == leaf;
  const std::string whose = own ? "its certificate" : "the certificate of its CA " + subject_of(current);
  if (lacks_trusted_ca(verdict)) {
    return distrust(leaf,
                    "the CA of its certificate (" + distinguished_name(X509_get_issuer_name(leaf)) +
                        ") is no longer trusted",
                    EKEYREJECTED);
  }
  switch (verdict) {
    case X509_V_ERR_CERT_REVOKED:
      return distrust(leaf, whose + " has been revoked", EKEYREVOKED);
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return distrust(
          leaf, whose + " expired on " + time_text(X509_get0_notAfter(current == nullptr ? leaf : current)),
          EKEYEXPIRED);
    case X509_V_ERR_UNABLE_TO_GET_CRL:
      return distrust(leaf,
                      "there is no CRL of the CA of its certificate (" +
                          distinguished_name(X509_get_issuer_name(leaf)) + ")",
                      EKEYREJECTED);
    default:
      return distrust(leaf, whose + ": " + X509_verify_cert_error_string(verdict), EKEYREJECTED);
  }
}

}  // namespace

Result<std::time_t> reverify(SSL* ssl, const TlsCredentials& credentials) {
  X509* leaf = SSL_get0_peer_certificate(ssl);
  SSL_CTX* context = credentials.context();
  const X509StoreCtxPtr verification(X509_STORE_CTX_new());
  ERR_clear_error();
  if (leaf == nullptr || X509_STORE_CTX_init(verification.get(), SSL_CTX_get_cert_store(context), leaf,
                                             SSL_get_peer_cert_chain(ssl)) != 1) {
    return fail("verify", "the peer's certificate", "it is not there");
  }
  // As OpenSSL does it in a handshake.
  X509_STORE_CTX_set_default(verification.get(),
                             credentials.side() == Side::server ? "ssl_client" : "ssl_server");
  X509_VERIFY_PARAM_set_auth_level(X509_STORE_CTX_get0_param(verification.get()),
                                   SSL_CTX_get_security_level(context));
  allow_outdated_crls(verification.get());
  const bool verified = X509_verify_cert(verification.get()) == 1;
  ERR_clear_error();
  if (!verified) return explain(verification.get(), leaf);
  return first_end(X509_STORE_CTX_get0_chain(verification.get()));
}

std::time_t valid_until(const SSL* ssl) {
  return first_end(SSL_get0_verified_chain(ssl));
}

bool may_return(const Error& distrust) {
  return distrust.cause != EKEYREVOKED;
}

}  // namespace farport::auth
