#include "router/certificates/expiry_warnings.hpp"

#include <algorithm>

namespace farport::router {
namespace {

using auth::Lifetime;

constexpr std::time_t kHour = 3600;
constexpr std::time_t kDay = 24 * kHour;
constexpr std::time_t kSoon = 14 * kDay;
/// A list for a week that is replaced every day always has six days left.
constexpr std::time_t kPartOfCrl = 5;

std::time_t warned_from(const Lifetime& lifetime) {
  const bool list = lifetime.kind == Lifetime::Kind::crl;
  return lifetime.until - (list ? std::min(kSoon, (lifetime.until - lifetime.from) / kPartOfCrl) : kSoon);
}

std::string_view consequence(const Lifetime& lifetime) {
  switch (lifetime.kind) {
    case Lifetime::Kind::own:
    case Lifetime::Kind::intermediate:
      return "the other side refuses it then";
    case Lifetime::Kind::authority:
      return "no certificate of it is accepted then";
    case Lifetime::Kind::crl:
      break;
  }
  return "nobody with a certificate of that CA is let in then";
}

std::string time_left(std::time_t seconds) {
  if (seconds < 2 * kDay) return std::to_string(seconds / kHour) + " hours";
  return std::to_string(seconds / kDay) + " days";
}

}  // namespace

void ExpiryWarnings::look(const auth::TlsCredentials& credentials, std::time_t now) {
  for (const Lifetime& each : credentials.lifetimes()) {
    if (each.until == 0 || now < warned_from(each)) continue;
    const bool over = each.until < now;
    Told& told = told_[each.fingerprint];
    if (told.at != 0 && told.over == over && now - told.at < kDay) continue;
    told = {over, now};
    if (over) {
      log_->error("{} expired on {}: renew it; it is read again as soon as it changes", each.described(),
                  auth::time_text(each.until));
    } else {
      log_->warn("{} expires on {}, in {}: renew it; {}", each.described(), auth::time_text(each.until),
                 time_left(each.until - now), consequence(each));
    }
  }
}

}  // namespace farport::router
