#include <catch2/catch.hpp>

#include "transport/happy_eyeballs.hpp"
#include "transport/timer.hpp"

using namespace farport;
using namespace farport::transport;
using namespace std::chrono_literals;

namespace {

std::vector<Address> addresses_of(const std::vector<std::string>& literals) {
  std::vector<Address> addresses;
  for (const std::string& literal : literals)
    addresses.push_back(resolve_here(literal, 9000).value().front());
  return addresses;
}

std::string joined(const std::vector<Address>& addresses) {
  std::string text;
  for (const Address& address : addresses) text += address.text() + " ";
  return text;
}

Task<void> look_up(Loop& loop, bool& found) {
  const auto addresses = co_await resolve(loop, "localhost", 9000);
  found = addresses.has_value();
}

}  // namespace

TEST_CASE("families take turns, and the first address stays the first", "[transport]") {
  CHECK(joined(interleave_families(addresses_of({"10.0.0.1", "10.0.0.2", "::1", "::2", "::3"}))) ==
        "10.0.0.1:9000 [::1]:9000 10.0.0.2:9000 [::2]:9000 [::3]:9000 ");
  CHECK(joined(interleave_families(addresses_of({"::1", "127.0.0.1"}))) == "[::1]:9000 127.0.0.1:9000 ");
  CHECK(interleave_families({}).empty());
}

TEST_CASE("an address is told from a name", "[transport]") {
  CHECK(is_literal("127.0.0.1"));
  CHECK(is_literal("::1"));
  CHECK_FALSE(is_literal("localhost"));
  CHECK_FALSE(is_literal("orders.example"));
}

TEST_CASE("an IPv4 peer of a socket for both families has its own address", "[transport]") {
  CHECK(joined(addresses_of({"::ffff:10.0.0.2", "::2"})) == "10.0.0.2:9000 [::2]:9000 ");
}

TEST_CASE("the next address is tried where the first one fails", "[transport]") {
  Loop loop;
  auto listener = Listener::tcp(loop, resolve_here("127.0.0.1", 0).value().front());
  REQUIRE(listener);
  const std::string name = (*listener)->name();
  const auto port = static_cast<std::uint16_t>(std::stoi(name.substr(name.rfind(':') + 1)));
  std::vector<Address> addresses = resolve_here("127.0.0.1", 1).value();
  addresses.push_back(resolve_here("127.0.0.1", port).value().front());
  const auto connected = loop.run(connect_any(loop, addresses, 5000ms));
  REQUIRE(connected);
  CHECK(connected->address == addresses.back());
  addresses.pop_back();
  const auto refused = loop.run(connect_any(loop, addresses, 5000ms));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().on == "127.0.0.1:1");
  CHECK_FALSE(loop.run(connect_any(loop, {}, 5000ms)));
}

TEST_CASE("a look-up that is cancelled leaves nothing behind, whenever that is", "[transport]") {
  Loop loop;
  bool found = false;
  {
    Task<void> abandoned = look_up(loop, found);
    abandoned.start();
  }
  // In the same turn in which it is told: the sanitizer finds what is left.
  for (const auto delay : {0ms, 1ms, 2ms, 5ms, 20ms}) {
    loop.run([](Loop& on, bool& flag, Milliseconds wait) -> Task<void> {
      Task<void> abandoned = look_up(on, flag);
      abandoned.start();
      co_await sleep(on, wait);
    }(loop, found, delay));
  }
  loop.run(look_up(loop, found));
  CHECK(found);
}
