// Owning pointers for OpenSSL's objects, and its errors, times and names as text.
#pragma once

#include <ctime>
#include <memory>
#include <string>

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace farport::auth {

/// When a certificate is valid, in seconds since 1970, UTC.
struct Validity {
  std::time_t from = 0;
  std::time_t until = 0;

  /// From five minutes ago, since clocks differ, until that many days from now.
  [[nodiscard]] static Validity days_from_now(int days);

  /// A certificate's validity at a time.
  enum class At { too_early, valid, expired };
  [[nodiscard]] At at(std::time_t time) const {
    return time < from ? At::too_early : time > until ? At::expired : At::valid;
  }
};

/// In seconds since 1970, UTC; 0 if `time` is missing or malformed.
[[nodiscard]] std::time_t seconds_of(const ASN1_TIME* time);

[[nodiscard]] Validity validity_of(const X509* certificate);

/// Frees an OpenSSL object with OpenSSL's function for it.
template <auto Function>
struct OpenSslFree {
  template <typename T>
  void operator()(T* object) const {
    Function(object);
  }
};

using BignumPtr = std::unique_ptr<BIGNUM, OpenSslFree<BN_free>>;
using BioPtr = std::unique_ptr<BIO, OpenSslFree<BIO_free_all>>;
using EncryptedKeyPtr = std::unique_ptr<X509_SIG, OpenSslFree<X509_SIG_free>>;
using EvpPkeyPtr = std::unique_ptr<EVP_PKEY, OpenSslFree<EVP_PKEY_free>>;
using GeneralNamesPtr = std::unique_ptr<GENERAL_NAMES, OpenSslFree<GENERAL_NAMES_free>>;
using KeyInfoPtr = std::unique_ptr<PKCS8_PRIV_KEY_INFO, OpenSslFree<PKCS8_PRIV_KEY_INFO_free>>;
using SslCtxPtr = std::unique_ptr<SSL_CTX, OpenSslFree<SSL_CTX_free>>;
using X509CrlPtr = std::unique_ptr<X509_CRL, OpenSslFree<X509_CRL_free>>;
using X509Ptr = std::unique_ptr<X509, OpenSslFree<X509_free>>;
using X509ExtensionPtr = std::unique_ptr<X509_EXTENSION, OpenSslFree<X509_EXTENSION_free>>;
using X509StorePtr = std::unique_ptr<X509_STORE, OpenSslFree<X509_STORE_free>>;
using X509StoreCtxPtr = std::unique_ptr<X509_STORE_CTX, OpenSslFree<X509_STORE_CTX_free>>;

/// The reasons in this thread's OpenSSL error queue, the first cause first. Empties the queue. "unknown
/// error" if it is empty.
[[nodiscard]] std::string take_openssl_error();

/// The same for one error code of ERR_peek_error().
[[nodiscard]] std::string openssl_error_text(unsigned long code);

/// "2026-11-21 04:36 UTC", or "an unreadable time".
[[nodiscard]] std::string time_text(const ASN1_TIME* time);

/// A name on one line, in the form of RFC 2253: "CN=alice,O=Acme".
[[nodiscard]] std::string distinguished_name(const X509_NAME* name);

/// Whether `verdict` (X509_V_ERR_…) means that no trusted CA has signed the certificate.
[[nodiscard]] bool lacks_trusted_ca(long verdict);

}  // namespace farport::auth
