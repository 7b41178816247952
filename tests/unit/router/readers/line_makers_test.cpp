#include <catch2/catch.hpp>

#include "router/readers/answers.hpp"

using namespace farport;
using namespace farport::router;

TEST_CASE("a heap that is not told to its end is no heap", "[recordings]") {
  HeapDocument types("orders", events::HeapWalk::Keep::types);
  CHECK_FALSE(types.has_enough());
  const auto end = types.take_end();
  REQUIRE_FALSE(end);
  CHECK(end.error().on == "orders");
}

TEST_CASE("stacks of no threads are a list", "[recordings]") {
  CurrentStacks stacks;
  CHECK(stacks.drain_lines().empty());
  CHECK(stacks.take_end().value() == "[]\n");
}
