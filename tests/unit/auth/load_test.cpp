#include <openssl/pem.h>

#include <catch2/catch.hpp>

#include "auth/check.hpp"
#include "auth/credentials.hpp"
#include "tests/unit/auth/fixtures.hpp"

namespace farport::auth {
namespace {

using test::holds;
using test::must;
using test::TestCa;

std::string server_error(const TlsFiles& files) {
  const auto context = make_server_context(files);
  return context ? "" : context.error().message();
}

std::string client_error(const TlsFiles& files) {
  const auto context = make_client_context(files);
  return context ? "" : context.error().message();
}

std::string findings_of(const TlsFiles& files, Side side, Finding::Level level) {
  std::string text;
  for (const auto& finding : check_tls_files(files, side)) {
    if (finding.level == level) text += finding.text + "\n";
  }
  return text;
}

CertificateRequest request_for(Side side, const std::string& name, Validity validity) {
  CertificateRequest request;
  request.side = side;
  request.name = name;
  request.validity = validity;
  return request;
}

TEST_CASE("good files make contexts", "[auth]") {
  const TestCa ca;
  CHECK(server_error(ca.server("orders")).empty());
  CHECK(client_error(ca.client("alice")).empty());
}

TEST_CASE("certificate and key may share a file", "[auth]") {
  const TestCa ca;
  TlsFiles files = ca.client("alice");
  files.cert = ca.directory().file("both.pem", test::text_of(files.key) + test::text_of(files.cert));
  files.key = files.cert;
  CHECK(client_error(files).empty());
}

TEST_CASE("a missing file is named", "[auth]") {
  const TestCa ca;
  TlsFiles files = ca.server("orders");
  files.cert += ".gone";
  CHECK(holds(server_error(files),
              "cannot read certificate " + files.cert + ": No such file or directory; is the path right"));
  files = ca.files("orders");
  files.ca = ca.directory().path();
  CHECK(holds(server_error(files), "cannot read certificate " + files.ca + ": Is a directory"));
}

TEST_CASE("garbage is told apart", "[auth]") {
  const TestCa ca;
  const TlsFiles good = ca.server("orders");
  const auto with_cert = [&](const std::string& text) {
    TlsFiles files = good;
    files.cert = ca.directory().file("odd", text);
    return server_error(files);
  };
  const auto with_key = [&](const std::string& text) {
    TlsFiles files = good;
    files.key = ca.directory().file("odd", text);
    return server_error(files);
  };
  const std::string cert = test::text_of(good.cert);
  const std::string key = test::text_of(good.key);
  CHECK(holds(with_cert(""), "the file is empty"));
  CHECK(holds(with_cert("hello\n"), "it is not a PEM file"));
  CHECK(holds(with_cert(std::string("\x30\x82\x01\x00", 4)), "it is in DER form"));
  CHECK(holds(with_cert(key), "it holds a private key; are certificate and key swapped?"));
  CHECK(holds(with_cert("-----BEGIN CERTIFICATE REQUEST-----\nAA==\n-----END CERTIFICATE REQUEST-----\n"),
              "it holds a certificate request"));
  CHECK(holds(with_cert(cert.substr(0, cert.size() / 2)), "certificate 1 in it is damaged"));
  CHECK(holds(with_cert(cert + cert.substr(0, 200)), "certificate 2 in it is damaged"));
  CHECK(holds(with_cert("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
              "certificate 1 in it is damaged"));
  CHECK(holds(with_cert(std::string(2 << 20, 'x')), "larger than 1 MiB"));
  CHECK(holds(with_cert(std::string(100 << 10, 'x')), "it is not a PEM file"));
  CHECK(holds(with_key(""), "the file is empty"));
  CHECK(holds(with_key(cert), "it holds a certificate; are certificate and key swapped?"));
  CHECK(holds(with_key(key.substr(0, key.size() / 2)), "it is damaged"));
}

TEST_CASE("a key of another certificate is refused", "[auth]") {
  const TestCa ca;
  TlsFiles files = ca.server("orders");
  files.key = ca.server("billing").key;
  CHECK(holds(server_error(files), "cannot use private key " + files.key +
                                       ": it is not the key of the certificate " + files.cert));
  CHECK(holds(findings_of(files, Side::server, Finding::Level::problem), "is not the key of"));
}

TEST_CASE("an encrypted key is refused without asking for a passphrase", "[auth]") {
  const TestCa ca;
  TlsFiles files = ca.server("orders");
  const auto key = must(load_key(files.key));
  const BioPtr bio(BIO_new(BIO_s_mem()));
  const std::string passphrase = "secret";
  const bool traditional = GENERATE(false, true);
  if (traditional) {
    PEM_write_bio_PrivateKey_traditional(bio.get(), key.get(), EVP_aes_128_cbc(),
                                         reinterpret_cast<const unsigned char*>(passphrase.data()),
                                         static_cast<int>(passphrase.size()), nullptr, nullptr);
  } else {
    PEM_write_bio_PKCS8PrivateKey(bio.get(), key.get(), EVP_aes_128_cbc(), passphrase.data(),
                                  static_cast<int>(passphrase.size()), nullptr, nullptr);
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  files.key = ca.directory().file("encrypted", {data, static_cast<std::size_t>(size)});
  CHECK(holds(server_error(files),
              "it is encrypted, and only a bundle's key may be; decrypt it: openssl pkey"));
}

TEST_CASE("a key as openssl ecparam writes it is read", "[auth]") {
  const TestCa ca;
  TlsFiles files = ca.client("alice");
  const auto key = must(load_key(files.key));
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey_traditional(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  files.key = ca.directory().file(
      "ec.key", "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n" +
                    std::string(data, static_cast<std::size_t>(size)));
  CHECK(client_error(files).empty());
}

TEST_CASE("our own certificate out of its time is an error at the start", "[auth]") {
  const TestCa ca;
  const TlsFiles expired = ca.issue(request_for(Side::server, "expired", test::long_ago()));
  const TlsFiles early = ca.issue(request_for(Side::client, "early", test::tomorrow()));
  CHECK(holds(server_error(expired), "cannot use certificate " + expired.cert + ": it expired on 20"));
  CHECK(holds(client_error(early), "cannot use certificate " + early.cert + ": it is valid only from 20"));
  CHECK(holds(findings_of(expired, Side::server, Finding::Level::problem), "it expired on"));
  CHECK(holds(findings_of(early, Side::client, Finding::Level::problem), "it is valid only from"));
}

TEST_CASE("our own certificate for the other side is an error at the start", "[auth]") {
  const TestCa ca;
  CHECK(holds(server_error(ca.client("alice")), "it is not for servers"));
  CHECK(holds(client_error(ca.server("orders")), "it is not for clients"));
}

TEST_CASE("check says all is well, and what it saw", "[auth]") {
  const TestCa ca;
  CertificateRequest request = request_for(Side::server, "orders", Validity::days_from_now(kCertificateDays));
  request.dns = {"orders.example"};
  request.ips = {"10.0.0.2"};
  const TlsFiles files = ca.issue(request);
  CHECK(findings_of(files, Side::server, Finding::Level::problem).empty());
  CHECK(findings_of(files, Side::server, Finding::Level::warning).empty());
  const std::string fine = findings_of(files, Side::server, Finding::Level::ok);
  CHECK(holds(fine, files.cert + ": CN=orders, DNS orders.example, IP 10.0.0.2; issued by CN=farport CA "));
  CHECK(holds(fine, "; pin "));
  CHECK(holds(fine, " days left"));
  CHECK(holds(fine, "chains to " + files.ca));
  CHECK(holds(fine, files.key + ": is the key of " + files.cert));
}

TEST_CASE("check warns of an end that is near", "[auth]") {
  const TestCa ca;
  const auto warnings = [&](const std::string& name, int days) {
    const std::time_t now = std::time(nullptr);
    const TlsFiles files =
        ca.issue(request_for(Side::client, name, {now, now + (days * 24 + 1) * test::kHour}));
    return findings_of(files, Side::client, Finding::Level::warning);
  };
  CHECK(warnings("fourteen", 14).empty());
  CHECK(holds(warnings("thirteen", 13), "13 days left; renew it soon"));
  CHECK(holds(warnings("one", 1), "1 day left; renew it soon"));
}

TEST_CASE("check warns of a key that others can read", "[auth]") {
  const TestCa ca;
  const TlsFiles files = ca.client("alice");
  chmod(files.key.c_str(), 0644);
  CHECK(holds(findings_of(files, Side::client, Finding::Level::warning),
              files.key + ": it is readable by everybody (mode 0644); chmod 600 " + files.key));
  chmod(files.key.c_str(), 0660);
  CHECK(
      holds(findings_of(files, Side::client, Finding::Level::warning), "writable by others than its owner"));
  chmod(files.key.c_str(), 0640);
  CHECK(findings_of(files, Side::client, Finding::Level::warning).empty());
}

TEST_CASE("check warns of a chain to another CA, and finds a server without names", "[auth]") {
  const TestCa ca;
  const TestCa other;
  TlsFiles files = ca.client("alice");
  files.ca = other.files("ca").cert;
  CHECK(holds(findings_of(files, Side::client, Finding::Level::warning), "does not chain to " + files.ca));

  CertificateRequest nameless =
      request_for(Side::server, "nameless", Validity::days_from_now(kCertificateDays));
  const Issued issued = must(make_certificate(ca.ca(), nameless));
  files = ca.files("nameless");
  REQUIRE(write_pair({files.cert, files.key}, issued, false));
  CHECK(holds(findings_of(files, Side::server, Finding::Level::problem), "holds no DNS name or address"));
}

TEST_CASE("check goes on after a problem", "[auth]") {
  const TestCa ca;
  TlsFiles files = ca.server("orders");
  files.cert += ".gone";
  files.ca += ".gone";
  chmod(files.key.c_str(), 0644);
  const std::string problems = findings_of(files, Side::server, Finding::Level::problem);
  CHECK(holds(problems, files.cert));
  CHECK(holds(problems, files.ca));
  CHECK(holds(findings_of(files, Side::server, Finding::Level::warning), "readable by everybody"));
}

}  // namespace
}  // namespace farport::auth
