// An agent that is pinned by its names or its key.
#include "auth/tls_context.hpp"
#include "auth/tls_credentials.hpp"
#include "tests/unit/auth/fixtures.hpp"
#include "tests/unit/auth/handshake.hpp"

namespace farport::auth {
namespace {

using test::Handshake;
using test::must;
using test::TestCa;

constexpr const char* kUri = "spiffe://acme.example/ns/shop/sa/agent";

/// An agent with a name, a URI and a key, and mirrors that want something of it.
struct Pinned {
  TestCa ca;
  TlsFiles agent_files = ca.issue(request());
  SslCtxPtr agent = must(make_server_context(agent_files));
  TlsFiles mirror_files = ca.client("alice");

  static CertificateRequest request() {
    CertificateRequest request;
    request.side = Side::server;
    request.name = "orders-agent";
    request.dns = {"orders.example"};
    request.ips = {"10.0.0.2"};
    request.uris = {kUri};
    return request;
  }

  [[nodiscard]] std::string pin() const {
    return identity_of(SSL_CTX_get0_certificate(agent.get())).spki_pin;
  }

  [[nodiscard]] bool accepts(const IdentityFilter& wanted, std::string& why) const {
    TlsFiles files = mirror_files;
    files.agent = wanted;
    const auto mirror = must(TlsCredentials::load(files, Side::client));
    Handshake handshake(mirror->context(), agent.get());
    const bool accepted = handshake.expect("orders.example").run();
    why = handshake.client.why;
    // A refusal comes before our own certificate is shown.
    if (!accepted) CHECK(SSL_get0_peer_certificate(handshake.server.ssl.get()) == nullptr);
    return accepted;
  }
};

IdentityFilter wanted(std::vector<std::string> IdentityFilter::*list, std::vector<std::string> names) {
  IdentityFilter filter;
  filter.*list = std::move(names);
  return filter;
}

TEST_CASE("a mirror accepts just the agent that it is told to", "[auth]") {
  const Pinned pinned;
  std::string why;
  CHECK(pinned.accepts({}, why));
  CHECK(pinned.accepts(wanted(&IdentityFilter::cn, {"billing-agent", "orders-agent"}), why));
  CHECK(pinned.accepts(wanted(&IdentityFilter::uri, {"spiffe://acme.example/ns/*/sa/agent"}), why));
  CHECK(pinned.accepts(wanted(&IdentityFilter::pin, {pinned.pin()}), why));
  CHECK(pinned.accepts(wanted(&IdentityFilter::dns, {"Orders.example"}), why));
  CHECK(pinned.accepts(wanted(&IdentityFilter::ip, {"10.0.0.2"}), why));

  CHECK_FALSE(pinned.accepts(wanted(&IdentityFilter::cn, {"billing-agent"}), why));
  CHECK_THAT(why, Catch::Contains("the agent's certificate (CN=orders-agent") &&
                      Catch::Contains("it lacks the common name billing-agent (--verify-cn)"));
  CHECK_FALSE(pinned.accepts(wanted(&IdentityFilter::uri, {"spiffe://acme.example/ns/*/sa/other"}), why));
  CHECK_THAT(why, Catch::Contains("--verify-uri"));
  CHECK_FALSE(
      pinned.accepts(wanted(&IdentityFilter::pin, {"47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="}), why));
  CHECK_THAT(why, Catch::Contains("--verify-pin") && Catch::Contains("its pin is " + pinned.pin()));
  CHECK_FALSE(pinned.accepts(wanted(&IdentityFilter::ou, {"shop"}), why));
}

TEST_CASE("all that is asked of an agent must be so", "[auth]") {
  const Pinned pinned;
  IdentityFilter filter = wanted(&IdentityFilter::cn, {"orders-agent"});
  filter.pin = {pinned.pin()};
  std::string why;
  CHECK(pinned.accepts(filter, why));
  filter.cn = {"billing-agent"};
  CHECK_FALSE(pinned.accepts(filter, why));
}

TEST_CASE("what is asked of an agent comes on top of its CA and its name", "[auth]") {
  const Pinned pinned;
  const Pinned other;
  TlsFiles files = pinned.mirror_files;
  files.agent = wanted(&IdentityFilter::cn, {"orders-agent"});
  const auto mirror = must(TlsCredentials::load(files, Side::client));
  Handshake of_another_ca(mirror->context(), other.agent.get());
  CHECK_FALSE(of_another_ca.expect("orders.example").run());
  CHECK_THAT(of_another_ca.client.why, Catch::Contains("signed by another CA"));
  Handshake under_another_name(mirror->context(), pinned.agent.get());
  CHECK_FALSE(under_another_name.expect("billing.example").run());
  CHECK_THAT(under_another_name.client.why, Catch::Contains("--server-name orders.example"));
}

TEST_CASE("what can't be asked of an agent is an error", "[auth]") {
  const Pinned pinned;
  TlsFiles files = pinned.mirror_files;
  files.agent = wanted(&IdentityFilter::pin, {"sha256"});
  const auto pin = TlsCredentials::load(files, Side::client);
  REQUIRE_FALSE(pin.has_value());
  CHECK_THAT(pin.error().message(), Catch::Contains("a pin is the SHA-256"));
  files.agent = wanted(&IdentityFilter::uri, {"spiffe://*/agent"});
  CHECK_FALSE(TlsCredentials::load(files, Side::client).has_value());
  files.agent = wanted(&IdentityFilter::cn, {""});
  CHECK_FALSE(TlsCredentials::load(files, Side::client).has_value());
}

}  // namespace
}  // namespace farport::auth
