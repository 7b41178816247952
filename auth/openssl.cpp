#include "auth/openssl.hpp"

#include <array>
#include <ctime>

#include <openssl/err.h>

namespace farport::auth {
namespace {

constexpr std::time_t kClockDifference = std::time_t{5} * 60;
constexpr std::time_t kDay = std::time_t{24} * 60 * 60;

}  // namespace

Validity Validity::days_from_now(int days) {
  const std::time_t now = std::time(nullptr);
  return {now - kClockDifference, now + days * kDay};
}

std::time_t seconds_of(const ASN1_TIME* time) {
  std::tm parts{};
  return time != nullptr && ASN1_TIME_to_tm(time, &parts) == 1 ? timegm(&parts) : 0;
}

Validity validity_of(const X509* certificate) {
  return {seconds_of(X509_get0_notBefore(certificate)), seconds_of(X509_get0_notAfter(certificate))};
}

std::string openssl_error_text(unsigned long code) {
  const char* reason = ERR_reason_error_string(code);
  return reason == nullptr ? "unknown error" : reason;
}

std::string take_openssl_error() {
  std::string text;
  while (const unsigned long code = ERR_get_error()) {
    const std::string reason = openssl_error_text(code);
    if (text.ends_with(reason)) continue;  // Layers of OpenSSL repeat the same reason.
    text += (text.empty() ? "" : ": ") + reason;
  }
  return text.empty() ? "unknown error" : text;
}

std::string time_text(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "an unreadable time";
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts);
  return {text.data(), size};
}

std::string distinguished_name(const X509_NAME* name) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  // ESC_CTRL keeps control characters out of logs. ESC_MSB is not set, so that UTF-8 stays readable.
  constexpr unsigned long kFlags = ASN1_STRFLGS_ESC_2253 | ASN1_STRFLGS_ESC_CTRL | ASN1_STRFLGS_UTF8_CONVERT |
                                   XN_FLAG_SEP_COMMA_PLUS | XN_FLAG_DN_REV | XN_FLAG_FN_SN;
  if (X509_NAME_print_ex(bio.get(), name, 0, kFlags) < 0) return "an unreadable name";
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  if (size <= 0) return "no name";
  return {data, static_cast<std::size_t>(size)};
}

bool lacks_trusted_ca(long verdict) {
  switch (verdict) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return true;
    default:
      return false;
  }
}

}  // namespace farport::auth
