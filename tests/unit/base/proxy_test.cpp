#include "base/proxy.hpp"

#include <catch2/catch.hpp>

using namespace farport;

TEST_CASE("proxies are named by URLs", "[base]") {
  const auto plain = parse_proxy("http://proxy.example:3128/");
  REQUIRE(plain);
  CHECK(plain->host == "proxy.example");
  CHECK(plain->port == 3128);
  CHECK(plain->user_info.empty());
  CHECK(plain->text() == "proxy.example:3128");
  CHECK(parse_proxy("proxy.example")->port == 80);
  CHECK(parse_proxy("http://[fd00::2]:8080")->host == "fd00::2");
  CHECK(parse_proxy("http://[fd00::2]:8080")->text() == "[fd00::2]:8080");
  CHECK(parse_proxy("http://[fd00::2]")->port == 80);
  const auto named = parse_proxy("http://al%69ce:p%40ss@proxy:1");
  REQUIRE(named);
  CHECK(named->user_info == "alice:p@ss");
  CHECK(named->text() == "proxy:1");
}

TEST_CASE("what names no proxy is an error without its password", "[base]") {
  for (const char* url :
       {"", "http://", "https://proxy:1", "socks5://u:secret@proxy:1", "http://proxy:0", "http://proxy:65536",
        "http://proxy:x", "http://u:secret%4@proxy", "http://u:secret%zz@proxy", "http://u:secret@",
        "http://pro xy:1", "http://proxy/path", "http://pro\nxy:1"}) {
    INFO(url);
    const auto parsed = parse_proxy(url);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().message().find("secret") == std::string::npos);
  }
}

TEST_CASE("some hosts are reached without a proxy", "[base]") {
  const auto direct = [](const char* list, const char* host) { return goes_direct(list, host); };
  CHECK(direct("", "localhost"));
  CHECK(direct("", "127.8.8.8"));
  CHECK(direct("", "::1"));
  CHECK_FALSE(direct("", "10.0.0.1"));
  CHECK_FALSE(direct("", "orders.example"));
  CHECK(direct("*", "orders.example"));
  CHECK(direct("example", "orders.example"));
  CHECK(direct("a.test, .example ,b.test", "orders.example"));
  CHECK(direct("orders.example", "orders.example"));
  CHECK(direct("ORDERS.Example", "orders.example"));
  CHECK(direct(".example", "Orders.EXAMPLE"));
  CHECK(direct("", "LOCALHOST"));
  CHECK_FALSE(direct("ders.example", "orders.example"));
  CHECK_FALSE(direct(",,", "orders.example"));
  CHECK(direct("10.0.0.0/8", "10.200.0.1"));
  CHECK_FALSE(direct("10.0.0.0/9", "10.200.0.1"));
  CHECK(direct("10.0.0.0/0", "11.0.0.1"));
  CHECK_FALSE(direct("10.0.0.0/33", "10.0.0.0"));
  CHECK_FALSE(direct("10.0.0.0/x", "10.0.0.0"));
  CHECK(direct("10.0.0.7", "10.0.0.7"));
  CHECK(direct("fd00::/16", "fd00:1::2"));
  CHECK(direct("[fd00::2]", "fd00::2"));
  CHECK_FALSE(direct("10.0.0.0/8", "orders.example"));
  // Addresses are no names: their ends mean nothing.
  CHECK_FALSE(direct("0.1", "10.0.0.1"));
}
