// Credentials that are replaced under a running loop.
#include "router/certificates/credential_watch.hpp"

#include <sstream>

#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include <catch2/catch.hpp>

#include "auth/credentials.hpp"
#include "tests/unit/auth/crls.hpp"
#include "tests/unit/auth/handshake.hpp"

using namespace farport;
using namespace farport::auth::test;
using auth::Side;
using auth::TlsCredentials;
using auth::TlsFiles;
using transport::Milliseconds;
using transport::Task;

namespace {

constexpr Milliseconds kPoll{10};
constexpr int kPolls = 1000;

/// A server's credentials that are watched, and a client that has been let in.
struct Watched {
  TestCa ca;
  TestCa other;
  TlsFiles files = ca.server("orders.example");
  std::ostringstream text;
  Log log = std::make_shared<farport::Logger>(
      std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_st>(text)));
  transport::Loop loop;
  std::unique_ptr<router::CredentialWatch> watch;

  Watched() {
    files.ca = ca.directory().file("trusted.crt", both());
    files.crl = ca.directory().file("crl.pem", crl_text(ca.ca(), {}) + crl_text(other.ca(), {}));
    // So long that only notifications can be what it noticed.
    watch = std::make_unique<router::CredentialWatch>(
        loop, log, must(TlsCredentials::load(files, Side::server)), Milliseconds{600'000});
  }
  [[nodiscard]] std::string both() const {
    return text_of(ca.files("ca").cert) + text_of(other.files("ca").cert);
  }
  void replace(const std::string& path, const std::string& with) const {
    std::ofstream(path, std::ios::binary) << with;
  }
  [[nodiscard]] bool said(const std::string& part) const {
    return text.str().find(part) != std::string::npos;
  }
};

/// Runs the loop until the condition holds, or for a good while.
Task<bool> until(transport::Loop& loop, const std::function<bool()>* condition) {
  for (int polls = 0; polls < kPolls; ++polls) {
    if ((*condition)()) co_return true;
    co_await transport::sleep(loop, kPoll);
  }
  co_return false;
}

bool wait_for(Watched& watched, const std::function<bool()>& condition) {
  Task<void> running = watched.watch->run();
  running.start();
  const bool came = watched.loop.run(until(watched.loop, &condition));
  INFO(watched.text.str());
  CHECK(came);
  return came;
}

/// A client of `ca` that the server has let in.
struct Guest {
  Guest(Watched& watched, const TestCa& ca, const std::string& name)
      : client(must(auth::make_client_context({ca.client(name).cert, ca.files(name).key, watched.files.ca}))),
        handshake(client.get(), watched.watch->context()) {
    REQUIRE(handshake.expect("orders.example").run());
    enter(watched);
  }
  void enter(Watched& watched) {
    peer.emplace(watched.watch->peers(), handshake.server.ssl.get(),
                 [this](const Error& why) { ended = why.why; });
  }
  auth::SslCtxPtr client;
  Handshake handshake;
  std::string ended;
  std::optional<router::VerifiedPeer> peer;
};

}  // namespace

TEST_CASE("a new certificate is for the next handshake", "[router]") {
  Watched watched;
  const Guest guest(watched, watched.ca, "alice");
  const TlsFiles next = watched.ca.server("next.example");
  CHECK(watched.watch->expires() - std::time(nullptr) > 80L * 24 * kHour);
  watched.replace(watched.files.cert, text_of(next.cert));
  watched.replace(watched.files.key, text_of(next.key));
  wait_for(watched, [&] { return watched.watch->reloads() == 1; });
  CHECK(watched.said("our certificate CN=next.example"));
  CHECK(watched.watch->failed_reloads() == 0);
  CHECK(guest.ended.empty());
  CHECK(!guest.peer->ended());
}

TEST_CASE("a bundle and its passphrase are read again", "[router]") {
  Watched watched;
  const auto secret = [&](const std::string& text) { return watched.ca.directory().file("secret", text); };
  const auto bundle = [&](const std::string& name, const std::string& passphrase) {
    const auto issued = must(auth::load_issued(watched.ca.directory().path(), name));
    const auth::Passphrase closed_with(passphrase);
    const std::string path = watched.ca.directory().path("bundle.pem");
    REQUIRE(auth::write_bundle(path, issued, &closed_with, true));
    return path;
  };
  TlsFiles files = TlsFiles::of_bundle(bundle("orders.example", "one"));
  files.passphrase_file = secret("one\n");
  ::chmod(files.passphrase_file.c_str(), 0604);
  watched.watch = std::make_unique<router::CredentialWatch>(
      watched.loop, watched.log, must(TlsCredentials::load(files, Side::server)), Milliseconds{600'000});
  std::ignore = watched.ca.server("next.example");
  std::ignore = bundle("next.example", "two");
  wait_for(watched, [&] { return watched.watch->failed_reloads() == 1; });
  CHECK(watched.said("the passphrase is not that of its key; what was read before stays in use"));
  CHECK(
      watched.said("the passphrase " + files.passphrase_file + ": it is readable by everybody (mode 0604)"));
  std::ignore = secret("two\n");
  wait_for(watched, [&] { return watched.watch->reloads() == 1; });
  CHECK(watched.said("our certificate CN=next.example"));
}

TEST_CASE("what doesn't fit together is told once, and taken when it fits", "[router]") {
  Watched watched;
  const TlsFiles next = watched.ca.server("next.example");
  SSL_CTX* const context = watched.watch->context();
  watched.replace(watched.files.cert, text_of(next.cert));
  wait_for(watched, [&] { return watched.watch->failed_reloads() == 1; });
  CHECK(watched.said("it is not the key of the certificate " + watched.files.cert));
  CHECK(watched.said("what was read before stays in use"));
  CHECK(watched.watch->context() == context);
  watched.replace(watched.files.key, text_of(next.key));
  wait_for(watched, [&] { return watched.watch->reloads() == 1; });
  CHECK(watched.watch->failed_reloads() == 1);
}

TEST_CASE("what is out of its time, and files that can't be used, are faults", "[router]") {
  Watched watched;
  const auto faults = [&](std::time_t in) {
    std::string all;
    for (const std::string& fault : watched.watch->faults(std::time(nullptr) + in)) all += fault + "\n";
    return all;
  };
  constexpr std::time_t kYear = 365L * 24 * kHour;
  CHECK(faults(0).empty());
  // The CA outlives what it has issued.
  CHECK_THAT(faults(kYear), Catch::StartsWith("our certificate CN=orders.example") &&
                                Catch::Contains(" expired on ") && !Catch::Contains("no CA"));
  CHECK_THAT(faults(-kYear), Catch::Contains("our certificate") && Catch::Contains("is not valid before"));
  CHECK_THAT(faults(100 * kYear), Catch::Contains("no CA that is trusted is valid at this time"));
  watched.replace(watched.files.cert, "nonsense");
  wait_for(watched, [&] { return watched.watch->failed_reloads() == 1; });
  CHECK_THAT(faults(0),
             Catch::Contains(watched.files.cert) && Catch::EndsWith("what was read before stays in use\n"));
}

TEST_CASE("being asked, they are read again though nothing has changed", "[router]") {
  Watched watched;
  watched.watch->reload();
  wait_for(watched, [&] { return watched.watch->reloads() == 1; });
  CHECK(watched.said("the same as before"));
}

TEST_CASE("those of a removed CA are sent away, and no others", "[router]") {
  Watched watched;
  const Guest stays(watched, watched.ca, "alice");
  const Guest goes(watched, watched.other, "bob");
  watched.replace(watched.files.ca, text_of(watched.ca.files("ca").cert));
  wait_for(watched, [&] { return !goes.ended.empty(); });
  CHECK(goes.ended.find("is no longer trusted") != std::string::npos);
  REQUIRE(goes.peer->ended());
  CHECK(goes.peer->ended()->cause == EKEYREJECTED);
  CHECK(stays.ended.empty());
}

TEST_CASE("many who are revoked are all sent away", "[router]") {
  Watched watched;
  std::vector<std::unique_ptr<Guest>> guests;
  std::vector<std::string> revoked;
  for (int i = 0; i < 20; ++i) {
    const std::string name = "guest" + std::to_string(i);
    guests.push_back(std::make_unique<Guest>(watched, watched.ca, name));
    revoked.push_back(watched.ca.files(name).cert);
  }
  const Guest stays(watched, watched.ca, "alice");
  watched.replace(watched.files.crl, crl_text(watched.ca.ca(), revoked) + crl_text(watched.other.ca(), {}));
  wait_for(watched, [&] { return !guests.back()->ended.empty(); });
  for (const auto& guest : guests) CHECK(guest->ended == "its certificate has been revoked");
  CHECK(stays.ended.empty());
}

TEST_CASE("whose handshake began before the change is seen with what came after it", "[router]") {
  Watched watched;
  Guest late(watched, watched.other, "bob");
  late.peer.reset();
  watched.replace(watched.files.ca, text_of(watched.ca.files("ca").cert));
  wait_for(watched, [&] { return watched.watch->reloads() == 1; });
  CHECK(late.ended.empty());
  late.enter(watched);
  CHECK(late.ended.find("is no longer trusted") != std::string::npos);
}

TEST_CASE("a CA without a list is warned of", "[router]") {
  Watched watched;
  watched.replace(watched.files.crl, crl_text(watched.ca.ca(), {}));
  wait_for(watched, [&] { return watched.watch->reloads() == 1; });
  CHECK(watched.said("holds no CRL of CN=farport CA"));
}

TEST_CASE("a private key that others may read is warned of, when it is read and when it is read again",
          "[router]") {
  Watched watched;
  wait_for(watched, [] { return true; });
  CHECK_FALSE(watched.said("readable by everybody"));
  REQUIRE(::chmod(watched.files.key.c_str(), 0644) == 0);
  watched.watch->reload();
  wait_for(watched, [&] { return watched.watch->reloads() == 1; });
  CHECK(watched.said("the private key " + watched.files.key +
                     ": it is readable by everybody (mode 0644); chmod 600 it"));
}
