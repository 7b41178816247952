#include <openssl/pem.h>

#include <catch2/catch.hpp>

#include "auth/credentials.hpp"
#include "auth/identity.hpp"
#include "tests/unit/auth/fixtures.hpp"

namespace farport::auth {
namespace {

using test::must;
using test::TemporaryDirectory;
using test::TestCa;

/// What a strict verifier (RFC 5280) says of a certificate: "ok", or why not.
std::string strictly_verified(X509* certificate, X509* ca, int purpose) {
  const X509StorePtr store(X509_STORE_new());
  X509_STORE_add_cert(store.get(), ca);
  X509_STORE_set_flags(store.get(), X509_V_FLAG_X509_STRICT);
  const X509StoreCtxPtr verification(X509_STORE_CTX_new());
  X509_STORE_CTX_init(verification.get(), store.get(), certificate, nullptr);
  X509_STORE_CTX_set_purpose(verification.get(), purpose);
  X509_verify_cert(verification.get());
  return X509_verify_cert_error_string(X509_STORE_CTX_get_error(verification.get()));
}

TEST_CASE("an issued certificate is loaded and verified strictly, for its own purpose alone", "[auth]") {
  const TestCa ca;
  const TlsFiles server = ca.server("orders.example");
  const TlsFiles client = ca.client("alice");
  const auto anchors = must(load_certificates(server.ca));
  const auto server_pair = must(load_pair(server.cert, server.key));
  const auto client_pair = must(load_pair(client.cert, client.key));
  X509* anchor = anchors.front().get();
  X509* as_server = server_pair.chain.front().get();
  X509* as_client = client_pair.chain.front().get();
  CHECK(strictly_verified(as_server, anchor, X509_PURPOSE_SSL_SERVER) == "ok");
  CHECK(strictly_verified(as_client, anchor, X509_PURPOSE_SSL_CLIENT) == "ok");
  CHECK(strictly_verified(as_server, anchor, X509_PURPOSE_SSL_CLIENT) != "ok");
  CHECK(strictly_verified(as_client, anchor, X509_PURPOSE_SSL_SERVER) != "ok");
  CHECK(X509_check_ca(anchor) == 1);
  CHECK(X509_get_pathlen(anchor) == 0);
  CHECK(X509_check_ca(as_server) == 0);
  CHECK(X509_get_version(as_server) == X509_VERSION_3);
}

TEST_CASE("a certificate holds the names that were asked for", "[auth]") {
  const TestCa ca;
  CertificateRequest request;
  request.side = Side::server;
  request.name = "agent one";
  request.dns = {"orders.example", "*.orders.example"};
  request.ips = {"10.0.0.2", "fd00::2"};
  request.uris = {"spiffe://acme.example/ns/prod"};
  const auto issued = must(make_certificate(ca.ca(), must(complete_request(request))));
  const Identity identity = identity_of(issued.certificate.get());
  CHECK(identity.common_name == request.name);
  CHECK(identity.dns == request.dns);
  CHECK(identity.ips == request.ips);
  CHECK(identity.uris == request.uris);
  CHECK(identity.serial.size() > 24);
}

TEST_CASE("a server without names is named by its own", "[auth]") {
  const auto completed = [](const std::string& name, Side side) {
    CertificateRequest request;
    request.side = side;
    request.name = name;
    return complete_request(request);
  };
  CHECK(must(completed("orders", Side::server)).dns == std::vector<std::string>{"orders"});
  CHECK(must(completed("10.0.0.2", Side::server)).ips == std::vector<std::string>{"10.0.0.2"});
  CHECK(must(completed("alice", Side::client)).dns.empty());
  CHECK_FALSE(completed("agent one", Side::server));
}

TEST_CASE("names that cannot be are refused", "[auth]") {
  CertificateRequest request;
  request.side = Side::server;
  request.name = "orders";
  SECTION("name") {
    const auto* name = GENERATE("", "../x", "a/b", ".hidden", "-rf", "ca", "a\nb",
                                "12345678901234567890123456789012345678901234567890123456789012345");
    request.name = name;
    request.dns = {"orders.example"};
  }
  SECTION("dns") {
    request.dns = {GENERATE("", "a..b", "a b", "10.0.0.2", "a.*.b", "x,IP:1.2.3.4", ".")};
  }
  SECTION("ip") {
    request.ips = {GENERATE("", "orders", "10.0.0", "10.0.0.2/24", "10.0.0.2:9000")};
  }
  SECTION("uri") {
    request.uris = {GENERATE("", "orders", "spiffe:", "://x", "spiffe://a b", "spiffe://\xc3\xbc")};
  }
  CHECK_FALSE(complete_request(request));
}

TEST_CASE("validity is what was asked for, and no longer than the CA's", "[auth]") {
  const auto days_left = [](const Issued& issued) {
    int days = 0;
    int seconds = 0;
    ASN1_TIME_diff(&days, &seconds, nullptr, X509_get0_notAfter(issued.certificate.get()));
    return days + (seconds > 0 ? 1 : 0);
  };
  const Issued ca = must(make_ca());
  CertificateRequest request;
  request.name = "alice";
  CHECK(days_left(ca) == kCaDays);
  CHECK(days_left(must(make_certificate(ca, request))) == kCertificateDays);
  CHECK(X509_cmp_current_time(X509_get0_notBefore(ca.certificate.get())) < 0);
  const Issued short_ca = must(make_ca(Validity::days_from_now(3)));
  CHECK(days_left(must(make_certificate(short_ca, request))) == 3);
}

TEST_CASE("keys are for their owner alone, certificates for everybody", "[auth]") {
  const TestCa ca;
  const TlsFiles files = ca.client("alice");
  CHECK(test::mode_of(files.key) == 0600);
  CHECK(test::mode_of(files.cert) == 0644);
  CHECK(test::mode_of(ca.files("ca").key) == 0600);
  CHECK(test::text_of(files.key).starts_with("-----BEGIN PRIVATE KEY-----"));
  CHECK(permission_warning(files.key).empty());
}

TEST_CASE("nothing is overwritten unless asked for", "[auth]") {
  const TemporaryDirectory directory;
  const PairPaths paths = pair_paths(directory.path(), "ca");
  const Issued first = must(make_ca());
  const Issued second = must(make_ca());
  REQUIRE(write_pair(paths, first, false));
  const std::string certificate = test::text_of(paths.cert);
  const std::string key = test::text_of(paths.key);

  const auto refused = write_pair(paths, second, false);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message().find(paths.cert + ": the file exists") != std::string::npos);
  CHECK(test::text_of(paths.cert) == certificate);
  CHECK(test::text_of(paths.key) == key);

  std::filesystem::remove(paths.cert);
  CHECK_FALSE(write_pair(paths, second, false));
  CHECK_FALSE(std::filesystem::exists(paths.cert));  // No half of a pair stays behind.
  CHECK(test::text_of(paths.key) == key);

  REQUIRE(write_pair(paths, second, true));
  CHECK(test::text_of(paths.key) != key);
  CHECK(test::mode_of(paths.key) == 0600);
  CHECK(load_pair(paths.cert, paths.key));
  CHECK(std::distance(std::filesystem::directory_iterator(directory.path()), {}) == 2);
}

TEST_CASE("a planted link is not followed", "[auth]") {
  const TemporaryDirectory directory;
  const PairPaths paths = pair_paths(directory.path(), "ca");
  const std::string elsewhere = directory.path("elsewhere");
  std::filesystem::create_symlink(elsewhere, paths.key);
  const Issued ca = must(make_ca());
  CHECK_FALSE(write_pair(paths, ca, false));
  CHECK_FALSE(std::filesystem::exists(elsewhere));
  REQUIRE(write_pair(paths, ca, true));
  CHECK_FALSE(std::filesystem::exists(elsewhere));
  CHECK(std::filesystem::is_regular_file(std::filesystem::symlink_status(paths.key)));
}

TEST_CASE("a CA is loaded only if it is one", "[auth]") {
  const TemporaryDirectory directory;
  const auto missing = load_ca(directory.path());
  REQUIRE_FALSE(missing);
  CHECK(missing.error().hint == "make a CA first: farport certs init " + directory.path());

  const PairPaths paths = pair_paths(directory.path(), "ca");
  const Issued ca = must(make_ca());
  REQUIRE(write_pair(paths, ca, false));
  CHECK(load_ca(directory.path()));

  CertificateRequest request;
  request.name = "alice";
  REQUIRE(write_pair(paths, must(make_certificate(ca, request)), true));
  CHECK(load_ca(directory.path()).error().why == "the certificate is not a CA's");

  REQUIRE(write_pair(paths, must(make_ca(test::long_ago())), true));
  CHECK(load_ca(directory.path()).error().why.starts_with("it expired on "));
}

}  // namespace
}  // namespace farport::auth
