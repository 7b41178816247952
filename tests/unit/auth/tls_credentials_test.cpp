// Credentials as they were read, and peers seen with later ones.
#include "auth/tls_credentials.hpp"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include <catch2/catch.hpp>

#include "tests/unit/auth/crls.hpp"
#include "tests/unit/auth/handshake.hpp"

using namespace farport;
using namespace farport::auth;
using namespace farport::auth::test;

namespace {

std::string both_cas(const TestCa& directory, const TestCa& first, const TestCa& second) {
  return directory.directory().file("both.crt",
                                    text_of(first.files("ca").cert) + text_of(second.files("ca").cert));
}

/// A server that trusts two CAs and a client of the first, after their handshake.
struct Met {
  explicit Met(Validity validity = Validity::days_from_now(1)) {
    server_files.ca = both_cas(ca, ca, other);
    CertificateRequest request;
    request.name = "alice";
    request.validity = validity;
    client_files = ca.issue(request);
    server = must(TlsCredentials::load(server_files, Side::server));
    client = must(TlsCredentials::load(client_files, Side::client));
    handshake = std::make_unique<Handshake>(client->context(), server->context());
    REQUIRE(handshake->expect("orders.example").run());
  }
  Result<std::time_t> seen_by_server() {
    const auto later = must(TlsCredentials::load(server_files, Side::server));
    return reverify(handshake->server.ssl.get(), *later);
  }
  Result<std::time_t> seen_by_client() {
    const auto later = must(TlsCredentials::load(client_files, Side::client));
    return reverify(handshake->client.ssl.get(), *later);
  }

  TestCa ca;
  TestCa other;
  TlsFiles server_files = ca.server("orders.example");
  TlsFiles client_files;
  TlsCredentialsPtr server;
  TlsCredentialsPtr client;
  std::unique_ptr<Handshake> handshake;
};

void wait_until_past(std::time_t time) {
  while (std::time(nullptr) <= time) std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

void expect_distrust(const Result<std::time_t>& seen, int code, const std::string& why) {
  REQUIRE(!seen);
  CHECK(seen.error().cause == code);
  CHECK(may_return(seen.error()) == (code != EKEYREVOKED));
  CHECK(holds(seen.error().why, why));
}

}  // namespace

TEST_CASE("a peer whose CA is still trusted stays, until its certificate expires", "[auth]") {
  const Validity validity{std::time(nullptr) - kHour, std::time(nullptr) + 2 * kHour};
  Met met(validity);
  const auto seen = met.seen_by_server();
  REQUIRE(seen);
  CHECK(*seen == validity.until);
  CHECK(valid_until(met.handshake->server.ssl.get()) == validity.until);
  CHECK(met.seen_by_client());
}

TEST_CASE("a peer whose CA is gone is no longer trusted, on either side", "[auth]") {
  Met met;
  met.server_files.ca = met.other.files("ca").cert;
  expect_distrust(met.seen_by_server(), EKEYREJECTED, "is no longer trusted");
  met.client_files.ca = met.other.files("ca").cert;
  expect_distrust(met.seen_by_client(), EKEYREJECTED, "is no longer trusted");
}

TEST_CASE("a peer that has been revoked is no longer trusted", "[auth]") {
  Met met;
  const auto use = [&](const std::string& text) {
    met.server_files.crl = met.ca.directory().file("crl.pem", text);
  };
  use(crl_text(met.ca.ca(), {}));
  CHECK(met.seen_by_server());
  use(crl_text(met.ca.ca(), {met.client_files.cert}));
  expect_distrust(met.seen_by_server(), EKEYREVOKED, "its certificate has been revoked");
  use(crl_text(met.other.ca(), {}));
  expect_distrust(met.seen_by_server(), EKEYREJECTED, "there is no CRL of the CA of its certificate");
}

TEST_CASE("a list that goes out of date ends nothing and lets nobody in", "[auth]") {
  Met met;
  Validity short_one = current();
  TlsCredentialsPtr credentials;
  // Long enough to be read in time, on any machine.
  for (int seconds = 1; credentials == nullptr && seconds < 100; seconds *= 2) {
    short_one.until = std::time(nullptr) + seconds;
    met.server_files.crl = met.ca.directory().file("crl.pem", crl_text(met.ca.ca(), {}, short_one));
    credentials = TlsCredentials::load(met.server_files, Side::server).value_or(nullptr);
  }
  REQUIRE(credentials != nullptr);
  wait_until_past(short_one.until);
  CHECK(reverify(met.handshake->server.ssl.get(), *credentials));
  Handshake late(met.client->context(), credentials->context());
  CHECK(!late.expect("orders.example").run());
  CHECK(holds(late.server.why, "the CRL of its CA in --tls-crl is out of date"));
}

TEST_CASE("a peer whose certificate has expired since is no longer trusted", "[auth]") {
  // So long that hands are shaken before.
  const Validity validity{std::time(nullptr) - kHour, std::time(nullptr) + 5};
  Met met(validity);
  wait_until_past(validity.until);
  expect_distrust(met.seen_by_server(), EKEYEXPIRED, "its certificate expired on");
}

TEST_CASE("credentials know how long what they hold may be used", "[auth]") {
  Met met;
  met.server_files.crl = met.ca.directory().file("crl.pem", crl_text(met.ca.ca(), {met.client_files.cert}));
  const auto credentials = must(TlsCredentials::load(met.server_files, Side::server));
  const auto& all = credentials->lifetimes();
  REQUIRE(all.size() == 4);
  CHECK(all[0].kind == Lifetime::Kind::own);
  CHECK(all[0].described() == "our certificate CN=orders.example (" + met.server_files.cert + ")");
  CHECK(all[0].until > std::time(nullptr) + 89 * 24 * kHour);
  std::size_t revoked = 0;
  for (const Lifetime& each : all) revoked += each.revoked;
  CHECK(revoked == 1);
  const auto gaps = authorities_without_crl(*credentials);
  REQUIRE(gaps.size() == 1);
  CHECK(gaps[0] == distinguished_name(X509_get_subject_name(met.other.ca().certificate.get())));
  CHECK(credentials->paths().size() == 4);
  CHECK(authorities_without_crl(*met.server).empty());
}

TEST_CASE("what is new is said in a line", "[auth]") {
  Met met;
  CHECK(what_is_new(*met.server, *met.server) == "the same as before");
  TlsFiles files = met.ca.server("next.example");
  files.crl = met.ca.directory().file("crl.pem", crl_text(met.ca.ca(), {}));
  const auto next = must(TlsCredentials::load(files, Side::server));
  const std::string news = what_is_new(*met.server, *next);
  CHECK(holds(news, "our certificate CN=next.example (" + files.cert + "), valid until 20"));
  CHECK(holds(news, "; the CRL of CN=farport CA"));
  CHECK(holds(news, "revokes 0 certificates, valid until"));
  CHECK(holds(news, "; no longer trusts CN=farport CA"));
  CHECK(holds(what_is_new(*next, *met.server), "now trusts CN=farport CA"));
}

TEST_CASE("a file's stamp changes with the file, whatever way it is replaced", "[auth]") {
  namespace fs = std::filesystem;
  const TemporaryDirectory directory;
  const std::string path = directory.path("link");
  CHECK(stamps_of({path}) == FileStamps{{}});
  fs::create_directory(directory.path("v1"));
  fs::create_directory(directory.path("v2"));
  std::ignore = directory.file("v1/file", "one");
  std::ignore = directory.file("v2/file", "one");
  fs::create_directory_symlink("v1", directory.path("data"));
  fs::create_symlink("data/file", path);
  FileStamps last = stamps_of({path});
  const auto changed = [&] {
    const FileStamps now = stamps_of({path});
    return now != std::exchange(last, now);
  };
  CHECK(!changed());
  fs::create_directory_symlink("v2", directory.path("data.new"));
  fs::rename(directory.path("data.new"), directory.path("data"));
  CHECK(changed());
  std::ignore = directory.file("v2/file", "other");
  CHECK(changed());
  std::ignore = directory.file("v2/new", "other");
  fs::rename(directory.path("v2/new"), directory.path("v2/file"));
  CHECK(changed());
  CHECK(!changed());
}

TEST_CASE("every directory that leads to a file is known", "[auth]") {
  namespace fs = std::filesystem;
  const TemporaryDirectory temporary;
  const std::string root = fs::canonical(temporary.path()).string();
  const auto path = [&](const std::string& name) { return root + "/" + name; };
  for (const char* name : {"mount", "mount/..v1", "elsewhere", "elsewhere/deep"})
    fs::create_directory(path(name));
  fs::create_directory_symlink("..v1", path("mount/..data"));
  fs::create_symlink("..data/tls.crt", path("mount/tls.crt"));
  std::ignore = temporary.file("mount/..v1/tls.crt", "x");
  using Set = std::set<std::string>;
  CHECK(directories_leading_to(path("mount/tls.crt")) == Set{path("mount"), path("mount/..v1")});
  fs::create_symlink(path("mount/tls.crt"), path("elsewhere/deep/cert"));
  CHECK(directories_leading_to(path("elsewhere/deep/../deep/./cert")) ==
        Set{path("elsewhere/deep"), path("mount"), path("mount/..v1")});
  CHECK(directories_leading_to(path("elsewhere/none")) == Set{path("elsewhere")});
  fs::create_symlink("b", path("a"));
  fs::create_symlink("a", path("b"));
  CHECK(directories_leading_to(path("a")).contains(root));  // And comes to an end.
}

TEST_CASE("a host name is ours if our certificate is valid for it", "[auth]") {
  const TestCa ca;
  const auto exact = must(TlsCredentials::load(ca.server("orders.example"), Side::server));
  CHECK(exact->has_name("orders.example"));
  CHECK(exact->has_name("ORDERS.example"));
  for (const std::string name : {"", "orders", "example", "billing.example", "x.orders.example", "*"}) {
    INFO(name);
    CHECK_FALSE(exact->has_name(name));
  }
}
