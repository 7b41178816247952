#include "tests/unit/auth/handshake.hpp"

#include <catch2/catch.hpp>

#include "auth/identity.hpp"
#include "tests/unit/auth/fixtures.hpp"

namespace farport::auth {
namespace {

using test::End;
using test::Handshake;
using test::holds;
using test::must;
using test::TestCa;

/// A context as another TLS program has it: verifies nothing, shows a certificate if given.
SslCtxPtr foreign_client(const TlsFiles* files = nullptr) {
  SslCtxPtr context(SSL_CTX_new(TLS_client_method()));
  if (files != nullptr) {
    REQUIRE(SSL_CTX_use_certificate_chain_file(context.get(), files->cert.c_str()) == 1);
    REQUIRE(SSL_CTX_use_PrivateKey_file(context.get(), files->key.c_str(), SSL_FILETYPE_PEM) == 1);
  }
  return context;
}

SslCtxPtr foreign_server(const TlsFiles& files) {
  SslCtxPtr context(SSL_CTX_new(TLS_server_method()));
  REQUIRE(SSL_CTX_use_certificate_chain_file(context.get(), files.cert.c_str()) == 1);
  REQUIRE(SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM) == 1);
  return context;
}

std::string alpn_of(const SSL* ssl) {
  const unsigned char* name = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl, &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

/// An agent and a mirror of one CA.
struct Pair {
  TestCa ca;
  TlsFiles server_files = ca.server("orders.example");
  TlsFiles client_files = ca.client("alice");
  SslCtxPtr server = must(make_server_context(server_files));
  SslCtxPtr client = must(make_client_context(client_files));
};

TEST_CASE("both sides verify each other and speak h2 over TLS 1.3", "[auth]") {
  const Pair pair;
  Handshake handshake(pair.client.get(), pair.server.get());
  REQUIRE(handshake.expect("Orders.Example.").run());
  CHECK(SSL_version(handshake.client.ssl.get()) == TLS1_3_VERSION);
  CHECK(alpn_of(handshake.client.ssl.get()) == "h2");
  CHECK(alpn_of(handshake.server.ssl.get()) == "h2");
  CHECK(identity_of(SSL_get0_peer_certificate(handshake.server.ssl.get())).common_name == "alice");
  CHECK(std::string(SSL_get_servername(handshake.server.ssl.get(), TLSEXT_NAMETYPE_host_name)) ==
        "Orders.Example");
  CHECK(std::string(SSL_get_cipher(handshake.client.ssl.get())) == "TLS_AES_128_GCM_SHA256");
}

TEST_CASE("neither side sends the root that the other trusts", "[auth]") {
  const Pair pair;
  Handshake handshake(pair.client.get(), pair.server.get());
  REQUIRE(handshake.expect("orders.example").run());
  CHECK(sk_X509_num(SSL_get_peer_cert_chain(handshake.client.ssl.get())) == 1);
  // A server's view of the chain leaves out the certificate itself.
  CHECK(sk_X509_num(SSL_get_peer_cert_chain(handshake.server.ssl.get())) == 0);
}

TEST_CASE("no session can be resumed", "[auth]") {
  const Pair pair;
  Handshake first(pair.client.get(), pair.server.get());
  REQUIRE(first.expect("orders.example").run());
  SSL_SESSION* session = SSL_get0_session(first.client.ssl.get());
  CHECK(SSL_SESSION_is_resumable(session) == 0);
  CHECK(SSL_CTX_get_num_tickets(pair.server.get()) == 0);
  CHECK(SSL_CTX_get_max_early_data(pair.server.get()) == 0);
}

TEST_CASE("an address is verified as an address, without SNI", "[auth]") {
  Pair pair;
  CertificateRequest request;
  request.side = Side::server;
  request.name = "agent";
  request.ips = {"10.0.0.2", "fd00::2"};
  const auto server = must(make_server_context(pair.ca.issue(request)));
  const auto* name = GENERATE("10.0.0.2", "fd00::2", "[fd00::2]", "fd00:0::2%eth0");
  Handshake handshake(pair.client.get(), server.get());
  REQUIRE(handshake.expect(name).run());
  CHECK(SSL_get_servername(handshake.server.ssl.get(), TLSEXT_NAMETYPE_host_name) == nullptr);
}

TEST_CASE("a wrong name is refused, with advice", "[auth]") {
  Pair pair;
  Handshake handshake(pair.client.get(), pair.server.get());
  const auto* name = GENERATE("10.0.0.2", "billing.example", "example");
  REQUIRE_FALSE(handshake.expect(name).run());
  CHECK(holds(handshake.client.why, "the agent's certificate is for orders.example, not " +
                                        std::string(name) +
                                        "; if that is the one you mean: --server-name orders.example"));
  CHECK(holds(handshake.server.why,
              "the client did not accept this agent's certificate (CN=orders.example); does it "
              "hold the name or address that the client dials?"));
}

TEST_CASE("a common name is no server name", "[auth]") {
  Pair pair;
  CertificateRequest request;
  request.side = Side::server;
  request.name = "orders.example";
  const auto files = pair.ca.files("nameless");
  REQUIRE(write_pair({files.cert, files.key}, must(make_certificate(pair.ca.ca(), request)), false));
  const auto server = must(make_server_context(files));
  Handshake handshake(pair.client.get(), server.get());
  REQUIRE_FALSE(handshake.expect("orders.example").run());
  CHECK(holds(handshake.client.why, "holds no DNS name or address"));
}

TEST_CASE("a name that cannot be verified is an error", "[auth]") {
  const Pair pair;
  Handshake handshake(pair.client.get(), pair.server.get());
  CHECK_FALSE(set_expected_server_name(handshake.client.ssl.get(), ""));
  CHECK_FALSE(set_expected_server_name(handshake.client.ssl.get(), "."));
  CHECK_FALSE(set_expected_server_name(handshake.client.ssl.get(), std::string("orders.example\0.evil", 20)));
  CHECK_FALSE(set_expected_server_name(handshake.client.ssl.get(), std::string(300, 'a')));
}

TEST_CASE("a client of another CA is refused, and both are told why", "[auth]") {
  const Pair pair;
  const TestCa other;
  TlsFiles files = other.client("mallory");
  files.ca = pair.client_files.ca;
  const auto client = must(make_client_context(files));
  Handshake handshake(client.get(), pair.server.get());
  REQUIRE_FALSE(handshake.expect("orders.example").run());
  CHECK_FALSE(handshake.server.done);
  CHECK(holds(handshake.server.why,
              "the client's certificate (CN=mallory) is signed by another CA (CN=farport CA "));
  CHECK(holds(handshake.client.why,
              "the agent did not accept this client's certificate (CN=mallory): it is signed by "
              "CN=farport CA "));
  CHECK(holds(handshake.client.why, ", the agent trusts CN=farport CA "));
}

TEST_CASE("an agent of another CA is refused", "[auth]") {
  const Pair pair;
  const TestCa other;
  TlsFiles files = other.server("orders.example");
  files.ca = pair.client_files.ca;
  const auto server = must(make_server_context(files));
  Handshake handshake(pair.client.get(), server.get());
  REQUIRE_FALSE(handshake.expect("orders.example").run());
  CHECK_FALSE(handshake.client.done);
  CHECK(holds(handshake.client.why, "the agent's certificate (CN=orders.example) is signed by another CA"));
  CHECK(holds(handshake.server.why, "it doesn't trust the CA"));
}

TEST_CASE("a self-signed client is refused", "[auth]") {
  const Pair pair;
  const TestCa other;
  const TlsFiles files = other.files("ca");
  const auto client = foreign_client(&files);
  Handshake handshake(client.get(), pair.server.get());
  REQUIRE_FALSE(handshake.run());
  CHECK_FALSE(handshake.server.done);
}

TEST_CASE("a client without a certificate is refused, and told what to give", "[auth]") {
  const Pair pair;
  const auto client = foreign_client();
  Handshake handshake(client.get(), pair.server.get());
  REQUIRE_FALSE(handshake.run());
  CHECK_FALSE(handshake.server.done);
  CHECK(holds(handshake.server.why, "the client showed no certificate"));
  CHECK(
      holds(handshake.client.why, "the agent asks for a client certificate; give --tls-cert and --tls-key"));
}

TEST_CASE("expired and early clients are refused", "[auth]") {
  const Pair pair;
  CertificateRequest request;
  request.name = "bob";
  SECTION("expired") {
    request.validity = test::long_ago();
    const TlsFiles files = pair.ca.issue(request);
    const auto client = foreign_client(&files);
    Handshake handshake(client.get(), pair.server.get());
    REQUIRE_FALSE(handshake.run());
    CHECK(holds(handshake.server.why, "the client's certificate (CN=bob) expired on 20"));
    CHECK(holds(handshake.client.why, "it has expired, or the peer's clock is wrong"));
  }
  SECTION("not yet valid") {
    request.validity = test::tomorrow();
    const TlsFiles files = pair.ca.issue(request);
    const auto client = foreign_client(&files);
    Handshake handshake(client.get(), pair.server.get());
    REQUIRE_FALSE(handshake.run());
    CHECK(holds(handshake.server.why, "the client's certificate (CN=bob) is valid only from 20"));
    CHECK(holds(handshake.client.why, "is it valid by the agent's clock"));
  }
}

TEST_CASE("an expired agent is refused", "[auth]") {
  const Pair pair;
  CertificateRequest request;
  request.side = Side::server;
  request.name = "old.example";
  request.validity = test::long_ago();
  const auto server = foreign_server(pair.ca.issue(request));
  Handshake handshake(pair.client.get(), server.get());
  REQUIRE_FALSE(handshake.expect("old.example").run());
  CHECK(holds(handshake.client.why, "the agent's certificate (CN=old.example) expired on 20"));
}

TEST_CASE("a chain with an expired CA names the CA", "[auth]") {
  const test::TemporaryDirectory directory;
  const Issued old_ca = must(make_ca(test::long_ago()));
  REQUIRE(write_pair(pair_paths(directory.path(), "ca"), old_ca, false));
  const Pair pair;
  TlsFiles files = pair.server_files;
  files.ca = pair_paths(directory.path(), "ca").cert;
  const auto server = must(make_server_context(files));
  CertificateRequest request;
  request.name = "alice";
  Issued issued = must(make_certificate(old_ca, request));
  ASN1_TIME_set(X509_getm_notAfter(issued.certificate.get()), std::time(nullptr) + test::kHour);
  REQUIRE(X509_sign(issued.certificate.get(), old_ca.key.get(), EVP_sha256()) > 0);
  const TlsFiles client_files = pair.ca.files("late");
  REQUIRE(write_pair({client_files.cert, client_files.key}, issued, false));
  const auto client = foreign_client(&client_files);
  Handshake handshake(client.get(), server.get());
  REQUIRE_FALSE(handshake.run());
  CHECK(holds(handshake.server.why, "the client's certificate (CN=alice) is signed by CN=farport CA "));
  CHECK(holds(handshake.server.why, ", which expired on 20"));
}

TEST_CASE("a certificate for the other purpose is refused", "[auth]") {
  const Pair pair;
  SECTION("a server's as a client") {
    const auto client = foreign_client(&pair.server_files);
    Handshake handshake(client.get(), pair.server.get());
    REQUIRE_FALSE(handshake.run());
    CHECK(holds(handshake.server.why, "is not for clients; issue one with: farport certs client"));
    CHECK(holds(handshake.client.why, "it is not for clients; issue one with: farport certs client"));
  }
  SECTION("a client's as a server") {
    const auto server = foreign_server(pair.client_files);
    Handshake handshake(pair.client.get(), server.get());
    REQUIRE_FALSE(handshake.expect("orders.example").run());
    CHECK(holds(handshake.client.why, "is not for servers; issue one with: farport certs server"));
  }
}

TEST_CASE("TLS 1.2 is refused on both sides", "[auth]") {
  const Pair pair;
  SECTION("an old client") {
    const auto client = foreign_client(&pair.client_files);
    SSL_CTX_set_max_proto_version(client.get(), TLS1_2_VERSION);
    Handshake handshake(client.get(), pair.server.get());
    REQUIRE_FALSE(handshake.run());
    CHECK(holds(handshake.server.why, "the client does not offer TLS 1.3"));
    CHECK(holds(handshake.client.why, "TLS"));
  }
  SECTION("an old server") {
    const auto server = foreign_server(pair.server_files);
    SSL_CTX_set_max_proto_version(server.get(), TLS1_2_VERSION);
    Handshake handshake(pair.client.get(), server.get());
    REQUIRE_FALSE(handshake.expect("orders.example").run());
    CHECK(holds(handshake.client.why, "the agent does not offer TLS 1.3"));
  }
}

TEST_CASE("ALPN: none is raw, h2 is found among others, others alone are refused", "[auth]") {
  const Pair pair;
  const auto client = foreign_client(&pair.client_files);
  const auto offer = [&](std::string_view list) {
    SSL_CTX_set_alpn_protos(client.get(), reinterpret_cast<const unsigned char*>(list.data()),
                            static_cast<unsigned int>(list.size()));
  };
  SECTION("none") {
    Handshake handshake(client.get(), pair.server.get());
    REQUIRE(handshake.run());
    CHECK(alpn_of(handshake.server.ssl.get()).empty());
  }
  SECTION("h2 among others") {
    offer("\x08http/1.1\x02h2");
    Handshake handshake(client.get(), pair.server.get());
    REQUIRE(handshake.run());
    CHECK(alpn_of(handshake.server.ssl.get()) == "h2");
  }
  SECTION("others alone") {
    offer("\x08http/1.1\x03h2c");
    Handshake handshake(client.get(), pair.server.get());
    REQUIRE_FALSE(handshake.run());
    CHECK(holds(handshake.server.why, "the client offers other protocols (ALPN), but not h2"));
    CHECK(holds(handshake.client.why, "does not speak HTTP/2 on this port"));
  }
}

/// Lets one side meet bytes that are not TLS.
std::string meeting(SSL_CTX* context, bool server, std::string_view bytes) {
  BIO* own = nullptr;
  BIO* peer = nullptr;
  BIO_new_bio_pair(&own, 0, &peer, 0);
  const BioPtr peer_end(peer);
  End end;
  end.ssl.reset(SSL_new(context));
  SSL_set_bio(end.ssl.get(), own, own);
  if (server) {
    SSL_set_accept_state(end.ssl.get());
  } else {
    SSL_set_connect_state(end.ssl.get());
  }
  BIO_write(peer, bytes.data(), static_cast<int>(bytes.size()));
  BIO_shutdown_wr(peer);
  end.go_on();
  REQUIRE(end.failed);
  return end.why;
}

TEST_CASE("what is not TLS is told as such", "[auth]") {
  const Pair pair;
  using namespace std::string_view_literals;
  CHECK(
      holds(meeting(pair.server.get(), true, "GET /v1/runtimes HTTP/1.1\r\n\r\n"), "speaks plaintext HTTP"));
  CHECK(holds(meeting(pair.server.get(), true, "DOTNET_IPC_V1\0\x14\0\x04\x04\0\0"sv), "doesn't speak TLS"));
  CHECK(holds(meeting(pair.server.get(), true, "SSH-2.0-OpenSSH_9.2\r\n"), "doesn't speak TLS"));
  CHECK(holds(meeting(pair.client.get(), false, "SSH-2.0-OpenSSH_9.2\r\n"), "is this a plaintext port?"));
  CHECK(holds(meeting(pair.client.get(), false, "HTTP/1.1 400 Bad Request\r\n\r\n"),
              "is this a plaintext port?"));
  CHECK(holds(meeting(pair.client.get(), false, ""), "closed the connection during the handshake"));
  CHECK(holds(meeting(pair.server.get(), true, ""), "closed the connection during the handshake"));
}

TEST_CASE("an intermediate in the CA file is trusted without its root", "[auth]") {
  // A CA of the test's own makes (path length 0) cannot sign another; the flag is what matters: a leaf's
  // direct issuer, not self-signed, is enough.
  const Pair pair;
  const Issued root = must(make_ca());
  Issued intermediate = must(make_ca());
  X509_set_issuer_name(intermediate.certificate.get(), X509_get_subject_name(root.certificate.get()));
  REQUIRE(X509_sign(intermediate.certificate.get(), root.key.get(), EVP_sha256()) > 0);
  TlsFiles files = pair.server_files;
  const PairPaths paths = pair_paths(pair.ca.directory().path(), "intermediate");
  REQUIRE(write_pair(paths, intermediate, false));
  files.ca = paths.cert;
  const auto server = must(make_server_context(files));
  CertificateRequest request;
  request.name = "carol";
  const TlsFiles client_files = pair.ca.files("carol");
  REQUIRE(write_pair({client_files.cert, client_files.key}, must(make_certificate(intermediate, request)),
                     false));
  const auto client = foreign_client(&client_files);
  Handshake handshake(client.get(), server.get());
  CHECK(handshake.run());
}

TEST_CASE("a certificate alone is sent with its issuers in the CA file, but without their root", "[auth]") {
  const TestCa ca;
  Issued intermediate = must(make_ca());
  X509_set_issuer_name(intermediate.certificate.get(), X509_get_subject_name(ca.ca().certificate.get()));
  REQUIRE(X509_sign(intermediate.certificate.get(), ca.ca().key.get(), EVP_sha256()) > 0);
  const PairPaths paths = pair_paths(ca.directory().path(), "intermediate");
  REQUIRE(write_pair(paths, intermediate, false));
  CertificateRequest request;
  request.side = Side::server;
  request.name = "orders.example";
  TlsFiles files = ca.files("orders.example");
  REQUIRE(write_pair({files.cert, files.key},
                     must(make_certificate(intermediate, must(complete_request(std::move(request))))),
                     false));
  files.ca = ca.directory().file("both.crt", test::text_of(paths.cert) + test::text_of(files.ca));
  const auto server = must(make_server_context(files));
  const auto client = foreign_client();
  Handshake handshake(client.get(), server.get());
  std::ignore = handshake.run();
  STACK_OF(X509)* const sent = SSL_get_peer_cert_chain(handshake.client.ssl.get());
  REQUIRE(sk_X509_num(sent) == 2);
  CHECK(X509_cmp(sk_X509_value(sent, 1), intermediate.certificate.get()) == 0);
}

}  // namespace
}  // namespace farport::auth
