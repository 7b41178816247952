// Revocation lists: what is taken, what is refused, and what it means for handshakes.
#include <openssl/pem.h>

#include <catch2/catch.hpp>

#include "auth/check.hpp"
#include "auth/credentials.hpp"
#include "auth/tls_context.hpp"
#include "tests/unit/auth/crls.hpp"
#include "tests/unit/auth/handshake.hpp"

using farport::Finding;
using namespace farport::auth;
using namespace farport::auth::test;

namespace {

void check_holds(const std::string& text, const std::string& part) {
  CHECK(holds(text, part));
}

/// A server with a list, and a client.
struct Pair {
  TestCa ca;
  TlsFiles server_files = ca.server("orders.example");
  TlsFiles client_files = ca.client("alice");

  std::string server_error() const {
    const auto context = make_server_context(server_files);
    return context ? "" : context.error().message();
  }
  /// Empty: both were content. Else why the server was not.
  std::string meet() const {
    const auto server = must(make_server_context(server_files));
    const auto client = must(make_client_context(client_files));
    Handshake handshake(client.get(), server.get());
    if (handshake.expect("orders.example").run()) return {};
    return handshake.server.why + "|" + handshake.client.why;
  }
};

std::string problems_of(const TlsFiles& files, Finding::Level level) {
  std::string all;
  for (const Finding& finding : check_tls_files(files, Side::server)) {
    if (finding.level == level) all += finding.text + "\n";
  }
  return all;
}

}  // namespace

TEST_CASE("a certificate that is not in the list is let in, one that is is not") {
  Pair pair;
  pair.server_files.crl = pair.ca.directory().file("crl.pem", crl_text(pair.ca.ca(), {}));
  CHECK(pair.meet() == "");
  const std::string revoking = crl_text(pair.ca.ca(), {pair.client_files.cert});
  pair.server_files.crl = pair.ca.directory().file("crl.pem", revoking);
  const std::string why = pair.meet();
  check_holds(why, "the client's certificate (CN=alice) has been revoked");
  check_holds(why, "it is revoked; issue a new one");
}

TEST_CASE("the mirror looks the agent up as well") {
  Pair pair;
  pair.client_files.crl =
      pair.ca.directory().file("crl.pem", crl_text(pair.ca.ca(), {pair.server_files.cert}));
  check_holds(pair.meet(), "the agent's certificate (CN=orders.example) has been revoked");
}

TEST_CASE("a certificate of a CA without a list is refused, since nothing is known of it") {
  Pair pair;
  const TestCa other;
  pair.client_files = other.client("mallory");
  pair.client_files.ca = pair.server_files.ca;
  const std::string both = text_of(pair.server_files.ca) + text_of(other.files("ca").cert);
  pair.server_files.ca = pair.ca.directory().file("both.crt", both);
  CHECK(pair.meet() == "");
  pair.server_files.crl = pair.ca.directory().file("crl.pem", crl_text(pair.ca.ca(), {}));
  check_holds(pair.meet(), "--tls-crl holds no CRL of its CA");
  pair.server_files.crl =
      pair.ca.directory().file("crl.pem", crl_text(pair.ca.ca(), {}) + crl_text(other.ca(), {}));
  CHECK(pair.meet() == "");
}

TEST_CASE("a file of lists that can't be used says why") {
  Pair pair;
  const auto use = [&](std::string_view text) {
    pair.server_files.crl = pair.ca.directory().file("crl.pem", text);
    return pair.server_error();
  };
  const std::string good = crl_text(pair.ca.ca(), {});
  CHECK(use(good) == "");
  check_holds(use(""), "cannot use CRL " + pair.server_files.crl + ": the file is empty");
  check_holds(use("hello"), "it is not a PEM file");
  check_holds(use(text_of(pair.server_files.ca)),
              "it holds a certificate; a CRL begins with -----BEGIN X509 CRL");
  check_holds(use("\x30\x82"), "it is in DER form; convert it: openssl crl -inform der");
  check_holds(use(good + good.substr(0, good.size() / 2)), "CRL 2 in it is damaged");
  check_holds(use(crl_text(pair.ca.ca(), {}, long_ago())), "is out of date since");
  check_holds(use(crl_text(pair.ca.ca(), {}, tomorrow())), "is valid only from");
  TestCa other;
  check_holds(use(crl_text(other.ca(), {}, current(), pair.ca.ca().certificate.get())),
              "is not signed by the CA of that name in " + pair.server_files.ca);
  pair.server_files.crl += ".gone";
  check_holds(pair.server_error(), "cannot read CRL " + pair.server_files.crl);
}

TEST_CASE("a list of a CA that is not ours to judge is no reason to refuse") {
  Pair pair;
  const TestCa other;
  pair.server_files.crl =
      pair.ca.directory().file("crl.pem", crl_text(other.ca(), {}) + crl_text(pair.ca.ca(), {}));
  CHECK(pair.meet() == "");
}

TEST_CASE("a CA's file in place of a CRL, and the other way round, are told apart") {
  Pair pair;
  pair.server_files.ca = pair.ca.directory().file("crl.pem", crl_text(pair.ca.ca(), {}));
  check_holds(pair.server_error(), "it holds a CRL; are CA and CRL swapped?");
}

TEST_CASE("check reports lists of revoked certificates") {
  Pair pair;
  const TestCa other;
  const std::string both = text_of(pair.server_files.ca) + text_of(other.files("ca").cert);
  pair.server_files.ca = pair.ca.directory().file("both.crt", both);
  pair.server_files.crl =
      pair.ca.directory().file("crl.pem", crl_text(pair.ca.ca(), {pair.client_files.cert}));
  check_holds(problems_of(pair.server_files, Finding::Level::ok), "with 1 certificate, valid until");
  check_holds(problems_of(pair.server_files, Finding::Level::warning), "holds no CRL of CN=farport CA");
  CHECK(problems_of(pair.server_files, Finding::Level::problem) == "");

  Validity ending = current();
  ending.until = std::time(nullptr) + kHour;
  pair.server_files.crl = pair.ca.directory().file("crl.pem", crl_text(pair.ca.ca(), {}, ending));
  check_holds(problems_of(pair.server_files, Finding::Level::warning), "renew it today");
  pair.server_files.crl = pair.ca.directory().file("crl.pem", crl_text(pair.ca.ca(), {}, long_ago()));
  check_holds(problems_of(pair.server_files, Finding::Level::problem), "is out of date since");
}
