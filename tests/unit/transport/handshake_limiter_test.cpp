#include "transport/handshake_limiter.hpp"

#include <memory>

#include <catch2/catch.hpp>

using namespace farport::transport;

TEST_CASE("one handshake too many ends the oldest of whoever has most", "[transport]") {
  HandshakeLimiter handshakes(3);
  std::string ended;
  const auto end = [&ended](const char* name) { return [&ended, name] { ended += name; }; };
  auto honest = std::make_unique<HandshakeLimiter::Entry>(handshakes, "10.0.0.1:50000", end("honest "));
  auto first = std::make_unique<HandshakeLimiter::Entry>(handshakes, "10.0.0.9:50001", end("first "));
  auto second = std::make_unique<HandshakeLimiter::Entry>(handshakes, "10.0.0.9:50002", end("second "));
  CHECK(ended.empty());
  auto third = std::make_unique<HandshakeLimiter::Entry>(handshakes, "10.0.0.9:50003", end("third "));
  CHECK(ended == "first ");
  CHECK(first->ended());
  CHECK(handshakes.count() == 3);
  auto fourth = std::make_unique<HandshakeLimiter::Entry>(handshakes, "10.0.0.9:50004", end("fourth "));
  CHECK(ended == "first second ");
  first.reset();
  second.reset();
  third.reset();
  CHECK(handshakes.count() == 2);
  // Where nobody has more than another, the oldest of all goes.
  const HandshakeLimiter::Entry fifth(handshakes, "[fd00:0:0:1::1]:50000", end("fifth "));
  const HandshakeLimiter::Entry sixth(handshakes, "[fd00:0:0:2::1]:50000", end("sixth "));
  CHECK(ended == "first second honest ");
}

TEST_CASE("handshakes are counted by IPv4 host, and by IPv6 network of 64 bits", "[transport]") {
  CHECK(network_of("10.0.0.2:51000") == "10.0.0.2");
  CHECK(network_of("[fd00:1:2:3:4:5:6:7]:51000") == "fd00:1:2:3::");
  CHECK(network_of("[fd00:1:2:3::9]:51001") == "fd00:1:2:3::");
  CHECK(network_of("[fe80::1%eth0]:51001") == "fe80::");
}
