#include "auth/validity.hpp"

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

}  // namespace farport::auth
