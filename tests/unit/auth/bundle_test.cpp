// Bundles: what is written can be read, and nothing else is taken for one.
#include <cerrno>
#include <filesystem>

#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "auth/check.hpp"
#include "auth/credentials.hpp"
#include "auth/tls_credentials.hpp"
#include "tests/unit/auth/fixtures.hpp"
#include "tests/unit/auth/handshake.hpp"

namespace farport::auth {
namespace {

using Catch::Contains;
using test::must;
using test::TestCa;

const std::string kSecret = "correct horse";

/// A CA that has issued "orders" for agents and "alice" for mirrors.
struct Bundled {
  TestCa ca;
  TlsFiles server = ca.server("orders.example");
  TlsFiles client = ca.client("alice");

  [[nodiscard]] std::string directory() const { return ca.directory().path(); }

  /// The bundle of a name.
  [[nodiscard]] TlsFiles make(const std::string& name, const Passphrase* passphrase = nullptr) const {
    const std::string path = bundle_path(directory(), name);
    const auto written = write_bundle(path, must(load_issued(directory(), name)), passphrase, true);
    if (!written) throw std::runtime_error(written.error().message());
    return TlsFiles::of_bundle(path);
  }
  [[nodiscard]] TlsFiles holding(const std::string& text) const {
    return TlsFiles::of_bundle(ca.directory().file("odd.pem", text));
  }
};

std::string why_not(const TlsFiles& files, Side side = Side::client) {
  const auto context = side == Side::server ? make_server_context(files) : make_client_context(files);
  return context ? "" : context.error().message();
}

std::string problems_of(const TlsFiles& files) {
  std::string text;
  for (const Finding& finding : check_tls_files(files, Side::client)) {
    if (finding.level != Finding::Level::ok) text += finding.text + "\n";
  }
  return text;
}

TEST_CASE("a bundle to each side, and they meet", "[auth]") {
  const Bundled made;
  const bool encrypted = GENERATE(false, true);
  const auto secret = std::make_shared<const Passphrase>(kSecret);
  TlsFiles server = made.make("orders.example", encrypted ? secret.get() : nullptr);
  TlsFiles client = made.make("alice", encrypted ? secret.get() : nullptr);
  CHECK(is_encrypted_bundle(client.cert) == encrypted);
  if (encrypted) {
    server.passphrase_file = made.ca.directory().file("passphrase", kSecret + "\r\nmore");
    client.passphrase = secret;
  }
  const auto server_side = must(TlsCredentials::load(server, Side::server));
  const auto client_side = must(TlsCredentials::load(client, Side::client));
  test::Handshake handshake(client_side->context(), server_side->context());
  CHECK(handshake.expect("orders.example").run());
  CHECK(server_side->paths().size() == (encrypted ? 2 : 1));
  CHECK(server_side->lifetimes().size() == 2);
  CHECK(problems_of(client).empty());
}

TEST_CASE("a bundle is for its owner alone, and replaces nothing unasked", "[auth]") {
  const Bundled made;
  const std::string path = made.make("alice").cert;
  CHECK(test::mode_of(path) == 0600);
  const auto alice = must(load_issued(made.directory(), "alice"));
  const auto again = write_bundle(path, alice, nullptr, false);
  REQUIRE_FALSE(again);
  CHECK_THAT(again.error().message(), Contains("the file exists") && Contains("--force"));
  const std::string link = made.ca.directory().path("link.pem");
  std::filesystem::create_symlink(made.ca.directory().path("elsewhere"), link);
  CHECK_FALSE(write_bundle(link, alice, nullptr, false));
  CHECK(write_bundle(link, alice, nullptr, true));
  CHECK_FALSE(std::filesystem::exists(made.ca.directory().path("elsewhere")));
  CHECK(test::mode_of(link) == 0600);
}

TEST_CASE("the CA's key goes into no bundle, whatever it is called", "[auth]") {
  const Bundled made;
  const auto by_name = load_issued(made.directory(), "ca");
  REQUIRE_FALSE(by_name);
  CHECK_THAT(by_name.error().message(), Contains("the CA's own"));
  REQUIRE(write_pair(pair_paths(made.directory(), "innocent"), made.ca.ca(), false));
  const auto renamed = load_issued(made.directory(), "innocent");
  REQUIRE_FALSE(renamed);
  CHECK_THAT(renamed.error().message(), Contains("whose key stays where it is"));
  const std::string key = test::text_of(made.ca.files("ca").key);
  CHECK(test::text_of(made.make("alice").cert).find(key.substr(30, 60)) == std::string::npos);
  CHECK_FALSE(load_issued(made.directory(), "../alice"));
  CHECK_THAT(load_issued(made.directory(), "nobody").error().message(), Contains("No such file"));
}

TEST_CASE("a certificate of another CA, or one that is over, is not bundled", "[auth]") {
  const Bundled made;
  CertificateRequest request;
  request.name = "late";
  request.validity = test::long_ago();
  const TlsFiles late = made.ca.issue(request);
  CHECK_THAT(load_issued(made.directory(), "late").error().message(), Contains("it expired on 20"));
  const TestCa other;
  std::filesystem::copy_file(other.files("ca").cert, made.client.ca,
                             std::filesystem::copy_options::overwrite_existing);
  CHECK_THAT(load_issued(made.directory(), "alice").error().message(), Contains("issued by another CA"));
}

TEST_CASE("without its passphrase an encrypted bundle opens nothing", "[auth]") {
  const Bundled made;
  const Passphrase secret(kSecret);
  TlsFiles files = made.make("alice", &secret);
  const std::string text = test::text_of(files.cert);
  CHECK(text.find("BEGIN ENCRYPTED PRIVATE KEY") != std::string::npos);
  CHECK(text.find("BEGIN PRIVATE KEY") == std::string::npos);
  CHECK_THAT(why_not(files), Contains("no passphrase is given; name a file"));
  files.passphrase = std::make_shared<const Passphrase>("battery staple");
  CHECK(load_bundle(files).error().cause == EKEYREJECTED);
  CHECK_THAT(why_not(files), Contains(files.cert + ": the passphrase is not that of its key"));
  CHECK(why_not(files).find("battery") == std::string::npos);
  files.passphrase_file = made.ca.directory().path("missing");
  CHECK_THAT(why_not(files), Contains("cannot read passphrase " + files.passphrase_file));
  CHECK_THAT(problems_of(files), Contains("cannot read passphrase"));
}

TEST_CASE("the parts of a bundle may stand in any order", "[auth]") {
  const Bundled made;
  const std::string cert = test::text_of(made.client.cert);
  const std::string key = test::text_of(made.client.key);
  const std::string ca = test::text_of(made.client.ca);
  const TestCa other;
  const std::string second = test::text_of(other.files("ca").cert);
  for (const std::string& text : {ca + key + cert, key + cert + ca, second + "words\n" + cert + ca + key}) {
    CHECK(why_not(made.holding(text)).empty());
  }
  const auto both = must(load_bundle(made.holding(second + key + cert + ca)));
  CHECK(both.chain.size() == 1);
  CHECK(both.anchors.size() == 2);
}

TEST_CASE("what lacks a part is no bundle, and says which", "[auth]") {
  const Bundled made;
  const std::string cert = test::text_of(made.client.cert);
  const std::string key = test::text_of(made.client.key);
  const std::string ca = test::text_of(made.client.ca);
  const std::string other_key = test::text_of(made.server.key);
  CHECK_THAT(why_not(made.holding("")), Contains("the file is empty"));
  CHECK_THAT(why_not(made.holding("nonsense")), Contains("it is not a PEM file"));
  CHECK_THAT(why_not(made.holding("\x30\x82")), Contains("openssl pkcs12 -in"));
  CHECK_THAT(why_not(made.holding(cert + ca)), Contains("it holds no private key"));
  CHECK_THAT(why_not(made.holding(key)), Contains("it holds no certificate"));
  CHECK_THAT(why_not(made.holding(cert + key)), Contains("it holds no certificate of a CA"));
  CHECK_THAT(why_not(made.holding(ca + key)), Contains("its key is that of none of its certificates"));
  CHECK_THAT(why_not(made.holding(cert + ca + other_key)), Contains("that of none of its certificates"));
  CHECK_THAT(why_not(made.holding(cert + key + ca + test::text_of(made.ca.files("ca").key))),
             Contains("more than one private key"));
  CHECK_THAT(why_not(made.holding(cert + key + ca.substr(0, 200))),
             Contains("certificate 2 in it is damaged"));
  CHECK_THAT(why_not(made.holding(cert + ca + key.substr(0, 80))), Contains("it is damaged"));
  CHECK_THAT(why_not(made.holding(std::string(2 << 20, 'x'))), Contains("larger than 1 MiB"));
}

TEST_CASE("a bundle is a regular file", "[auth]") {
  const Bundled made;
  CHECK_THAT(why_not(TlsFiles::of_bundle(made.directory())), Contains("Is a directory"));
  const std::string pipe = made.ca.directory().path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THAT(why_not(TlsFiles::of_bundle(pipe)), Contains("it is a pipe, not a file"));
  CHECK_FALSE(is_encrypted_bundle(pipe));
  TlsFiles files = made.make("alice");
  files.passphrase_file = pipe;
  CHECK_THAT(why_not(files), Contains("it is a pipe, not a file"));
}

TEST_CASE("a bundle for the other side, or out of its time, is an error at the start", "[auth]") {
  const Bundled made;
  CHECK_THAT(why_not(made.make("alice"), Side::server), Contains("it is not for servers"));
  CertificateRequest request;
  request.name = "early";
  request.validity = test::tomorrow();
  const TlsFiles early = made.ca.issue(request);
  CHECK_THAT(why_not(made.make("early")), Contains("it is valid only from"));
}

TEST_CASE("a key that takes too long to open is refused at once", "[auth]") {
  const Bundled made;
  const std::string rest = test::text_of(made.client.cert) + test::text_of(made.client.ca);
  // A PKCS#8 key by openssl pkcs8 -topk8 -iter 100000000, and one by -scrypt.
  const auto closed = [&](const char* options) {
    const std::string out = made.ca.directory().path("closed.key");
    const std::string command =
        "openssl pkcs8 -topk8 -passout pass:x -in " + made.client.key + " -out " + out + " " + options;
    REQUIRE(std::system(command.c_str()) == 0);
    TlsFiles files = made.holding(rest + test::text_of(out));
    files.passphrase = std::make_shared<const Passphrase>("x");
    return why_not(files);
  };
  CHECK(closed("-iter 2048").empty());
  CHECK_THAT(closed("-iter 2000001"), Contains("at most 2,000,000 iterations; encrypt it anew"));
  CHECK_THAT(closed("-scrypt"), Contains("not encrypted by PBES2 and PBKDF2"));
  CHECK_THAT(closed("-v1 PBE-SHA1-3DES"), Contains("not encrypted by PBES2 and PBKDF2"));
}

TEST_CASE("check warns of a bundle and a passphrase that others can read", "[auth]") {
  const Bundled made;
  TlsFiles files = made.make("alice");
  files.passphrase_file = made.ca.directory().file("passphrase", "x");
  ::chmod(files.cert.c_str(), 0644);
  ::chmod(files.passphrase_file.c_str(), 0666);
  const std::string problems = problems_of(files);
  CHECK_THAT(problems, Contains(files.cert + ": it is readable by everybody (mode 0644); chmod 600 "));
  CHECK_THAT(problems, Contains(files.passphrase_file + ": it is readable by everybody (mode 0666)"));
}

TEST_CASE("a passphrase is the first line of its file", "[auth]") {
  const test::TemporaryDirectory directory;
  const auto read = [&](const std::string& text) { return read_passphrase(directory.file("secret", text)); };
  CHECK(read("horse")->text() == "horse");
  CHECK(read("a horse \nb")->text() == "a horse ");
  CHECK(read("horse\r\n")->text() == "horse");
  CHECK_THAT(read("").error().message(), Contains("its first line is empty"));
  CHECK_THAT(read("\nhorse").error().message(), Contains("its first line is empty"));
  CHECK_THAT(read(std::string(1025, 'x')).error().message(), Contains("longer than 1024 bytes"));
  CHECK_FALSE(read(std::string(5000, 'x')));
}

}  // namespace
}  // namespace farport::auth
