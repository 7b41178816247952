// Revocation lists for tests.
#pragma once

#include <vector>

#include <openssl/pem.h>

#include "auth/credentials.hpp"
#include "tests/unit/auth/fixtures.hpp"

namespace farport::auth::test {

inline Validity current() {
  return {std::time(nullptr) - kHour, std::time(nullptr) + 24 * 30 * kHour};
}

/// A list by `ca`, in PEM, of the certificates in these files. `in_the_name_of`: another CA's certificate.
inline std::string crl_text(const Issued& ca, const std::vector<std::string>& revoked,
                            Validity validity = current(), const X509* in_the_name_of = nullptr) {
  const X509CrlPtr list(X509_CRL_new());
  const X509* issuer = in_the_name_of == nullptr ? ca.certificate.get() : in_the_name_of;
  const std::unique_ptr<ASN1_TIME, OpenSslFree<ASN1_TIME_free>> from(ASN1_TIME_set(nullptr, validity.from));
  const std::unique_ptr<ASN1_TIME, OpenSslFree<ASN1_TIME_free>> until(ASN1_TIME_set(nullptr, validity.until));
  X509_CRL_set_version(list.get(), 1);
  X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(issuer));
  X509_CRL_set1_lastUpdate(list.get(), from.get());
  X509_CRL_set1_nextUpdate(list.get(), until.get());
  for (const std::string& path : revoked) {
    X509_REVOKED* entry = X509_REVOKED_new();
    X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(must(load_certificates(path)).front().get()));
    X509_REVOKED_set_revocationDate(entry, from.get());
    X509_CRL_add0_revoked(list.get(), entry);
  }
  X509_CRL_sign(list.get(), ca.key.get(), EVP_sha256());
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509_CRL(bio.get(), list.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

}  // namespace farport::auth::test
