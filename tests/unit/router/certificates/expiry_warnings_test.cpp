// Warnings before certificates and lists end.
#include <sstream>

#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include <catch2/catch.hpp>

#include "router/certificates/credential_watch.hpp"
#include "tests/unit/auth/crls.hpp"

using namespace farport;
using namespace farport::auth::test;

namespace {

constexpr std::time_t kDay = 24 * kHour;

/// A log that can be read.
struct Written {
  std::ostringstream text;
  Log log = std::make_shared<farport::Logger>(
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_st>(text)));

  Written() { log->sink()->set_pattern("%l %v"); }
  /// What was written since the last time.
  std::string take() {
    std::string all = text.str();
    text.str({});
    return all;
  }
};

}  // namespace

TEST_CASE("certificates are warned of from 14 days before their end, once a day", "[router]") {
  const TestCa ca;
  const auto credentials = must(auth::TlsCredentials::load(ca.server("orders"), auth::Side::server));
  const std::time_t end = credentials->lifetimes().front().until;
  Written written;
  router::ExpiryWarnings warnings(written.log);
  warnings.look(*credentials, end - 14 * kDay - 1);
  CHECK(written.take().empty());
  warnings.look(*credentials, end - 14 * kDay + 1);
  const std::string said = written.take();
  CHECK(holds(said, "warning our certificate CN=orders"));
  CHECK(holds(said, "in 13 days: renew it; the other side refuses it then"));
  warnings.look(*credentials, end - 13 * kDay);
  CHECK(written.take().empty());
  warnings.look(*credentials, end - 12 * kDay);
  CHECK(holds(written.take(), "in 12 days"));
  warnings.forget();
  warnings.look(*credentials, end - 12 * kDay);
  CHECK(holds(written.take(), "in 12 days"));
  warnings.look(*credentials, end - 3 * kHour);
  CHECK(holds(written.take(), "in 3 hours"));
  // The end itself is told of at once.
  warnings.look(*credentials, end + 1);
  CHECK(holds(written.take(), "error our certificate CN=orders"));
  warnings.look(*credentials, end + kDay);
  CHECK(written.take().empty());
}

TEST_CASE("CAs and lists are warned of as well, lists in the last fifth of their time", "[router]") {
  const TestCa ca;
  auth::TlsFiles files = ca.server("orders");
  const std::time_t now = std::time(nullptr);
  files.crl = ca.directory().file("crl.pem", crl_text(ca.ca(), {}, {now, now + 10 * kDay}));
  const auto credentials = must(auth::TlsCredentials::load(files, auth::Side::server));
  Written written;
  router::ExpiryWarnings warnings(written.log);
  warnings.look(*credentials, now + 7 * kDay);
  CHECK(written.take().empty());
  warnings.look(*credentials, now + 9 * kDay);
  CHECK(holds(written.take(), "warning the CRL of CN=farport CA"));
  warnings.look(*credentials, now + auth::kCaDays * kDay - kDay);
  CHECK(holds(written.take(), "no certificate of it is accepted then"));
}
