// When a certificate is valid.
#pragma once

#include <ctime>

#include <openssl/x509.h>

namespace farport::auth {

/// In seconds since 1970, UTC.
struct Validity {
  std::time_t from = 0;
  std::time_t until = 0;

  /// From five minutes ago (clocks differ) for that many days from now.
  [[nodiscard]] static Validity days_from_now(int days);

  /// How the certificate stands at a time.
  enum class At { too_early, valid, expired };
  [[nodiscard]] At at(std::time_t time) const {
    return time < from ? At::too_early : time > until ? At::expired : At::valid;
  }
};

/// In seconds since 1970, UTC; 0 where there is none, or it is malformed.
[[nodiscard]] std::time_t seconds_of(const ASN1_TIME* time);

[[nodiscard]] Validity validity_of(const X509* certificate);

}  // namespace farport::auth
