// Saying in time that certificates and revocation lists have to be renewed.
#pragma once

#include <ctime>
#include <map>
#include <string>

#include "auth/tls_credentials.hpp"
#include "base/log.hpp"

namespace farport::router {

class ExpiryWarnings {
 public:
  explicit ExpiryWarnings(Log log) : log_(std::move(log)) {}

  /// Warns of what ends soon: certificates from 14 days before, CRLs in the last fifth of their time, which
  /// is often short; of what has ended, as an error. Says each again once a day, however often it is called.
  void look(const auth::TlsCredentials& credentials, std::time_t now);
  /// Has look() say everything again.
  void forget() { told_.clear(); }

 private:
  struct Told {
    bool over = false;
    std::time_t at = 0;
  };

  Log log_;
  std::map<std::string, Told> told_;  ///< By fingerprint.
};

}  // namespace farport::router
