#include <stdexcept>

#include <catch2/catch.hpp>

#include "transport/offload.hpp"

using farport::transport::Loop;
using farport::transport::run_detached;

TEST_CASE("what a detached thread throws is an error, and no end of the program", "[detached_work]") {
  Loop loop;
  bool done = false;
  CHECK(loop.run(run_detached(loop, [&done] { done = true; })));
  CHECK(done);
  const auto thrown = loop.run(run_detached(loop, [] { throw std::runtime_error("the file is gone"); }));
  REQUIRE_FALSE(thrown);
  CHECK(thrown.error().why == "the file is gone");
}
