#include "config/values.hpp"

#include <catch2/catch.hpp>

using namespace farport::config;

TEST_CASE("addresses are names, IPv4, and IPv6 in brackets, with a port") {
  CHECK(*parse_address("10.0.0.2:9000") == Address{"10.0.0.2", 9000});
  CHECK(*parse_address("orders.example:1") == Address{"orders.example", 1});
  CHECK(*parse_address("[fd00::2]:65535") == Address{"fd00::2", 65535});
  CHECK(to_string(*parse_address("[fd00::2]:9000")) == "[fd00::2]:9000");
  CHECK(to_string(*parse_address("a:0")) == "a:0");
  for (const char* wrong :
       {"", "orders", ":9000", "orders:", "orders:70000", "orders:-1", "orders:9x", "fd00::2:9000", "[]:9000",
        "[[a]]:9000", "[::1:9000", "a/b:9000", "user@host:9000", "a b:1"}) {
    INFO(wrong);
    CHECK_FALSE(parse_address(wrong).has_value());
  }
}

TEST_CASE("a port alone is one of the loopback address, where health and metrics are") {
  CHECK(*parse_admin_address("9100") == Address{"127.0.0.1", 9100});
  CHECK(*parse_admin_address(":9100") == Address{"127.0.0.1", 9100});
  CHECK(*parse_admin_address("0.0.0.0:9100") == Address{"0.0.0.0", 9100});
  CHECK(*parse_admin_address("[::1]:9100") == Address{"::1", 9100});
  for (const char* wrong : {"", ":", "x", "9100x", "70000", "::9100", "::1:9100", "http://a:9100"}) {
    INFO(wrong);
    CHECK_FALSE(parse_admin_address(wrong).has_value());
  }
}

TEST_CASE("durations have a unit") {
  CHECK(*parse_duration("500ms") == Milliseconds(500));
  CHECK(*parse_duration("5s") == Milliseconds(5000));
  CHECK(*parse_duration("2m") == Milliseconds(120'000));
  CHECK(*parse_duration("1h") == Milliseconds(3'600'000));
  for (const char* wrong : {"", "5", "s", "0s", "-1s", "1.5s", "5 s", "5d", "99999999999999h"}) {
    INFO(wrong);
    CHECK_FALSE(parse_duration(wrong).has_value());
  }
}

TEST_CASE("NAME=PATH needs both, and the path becomes absolute") {
  CHECK(*parse_named_socket("orders=/run/x.sock") == farport::NamedPath{"orders", "/run/x.sock"});
  CHECK(parse_named_socket("orders=x.sock")->path.front() == '/');
  CHECK(*parse_named_socket("a=/b=c") == farport::NamedPath{"a", "/b=c"});
  for (const char* wrong : {"", "orders", "=/x", "orders="})
    CHECK_FALSE(parse_named_socket(wrong).has_value());
}

TEST_CASE("a near miss is found, a far one is not") {
  const std::vector<std::string> words{"listen", "search", "tls"};
  CHECK(nearest("lisen", words) == "listen");
  CHECK(nearest("serach", words) == "search");
  CHECK(nearest("completely", words).empty());
  CHECK(nearest("x", {}).empty());
  CHECK(nearest("nope", {"top"}).empty());
  CHECK(nearest("--nope", {"--role"}).empty());
}

TEST_CASE("time spans are durations, or as .NET has them") {
  using namespace std::chrono_literals;
  CHECK(parse_time_span("30s") == 30'000ms);
  CHECK(parse_time_span("30") == 30'000ms);
  CHECK(parse_time_span("00:00:30") == 30'000ms);
  CHECK(parse_time_span("1:02:03") == 3'723'000ms);
  CHECK(parse_time_span("2:00:00:01") == 172'801'000ms);
  for (const char* wrong : {"", "0", "00:30", "00:00:60", "00:60:00", "24:00:00", "00:00:00", "a:b:c",
                            "0:0:0:0:1", "00:00:", "-1:00:00"}) {
    INFO(wrong);
    CHECK_FALSE(parse_time_span(wrong));
  }
}
