#include <catch2/catch.hpp>

#include "router/wire/session_options.hpp"

using namespace farport::router;

TEST_CASE("an agent that dials says which one it is", "[router]") {
  const std::string line = dialled_greeting("3f");
  REQUIRE(line.ends_with('\n'));
  CHECK(line.size() <= kDialledGreetingSize);
  CHECK(instance_in_greeting(line.substr(0, line.size() - 1)) == "3f");
  CHECK_FALSE(instance_in_greeting(""));
  CHECK_FALSE(instance_in_greeting("farport-agent 1 "));
  CHECK_FALSE(instance_in_greeting("farport-agent 2 3f"));
  CHECK_FALSE(instance_in_greeting("HTTP/1.1 200 OK"));
}
