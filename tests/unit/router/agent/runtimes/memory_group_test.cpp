// Buffers for which there is room in an application's memory.
#include "router/agent/runtimes/memory_group.hpp"

#include <cstdint>

#include <catch2/catch.hpp>

using farport::router::buffer_within;
using farport::router::MemoryClaim;

TEST_CASE("a buffer leaves some of the room, and has its least size in any case") {
  constexpr std::uint64_t kMiB = 1 << 20;
  CHECK(buffer_within(100 * kMiB) == 84);
  CHECK(buffer_within(100 * kMiB - 1) == 83);
  CHECK(buffer_within(20 * kMiB) == 4);
  CHECK(buffer_within(12 * kMiB) == 4);
  CHECK(buffer_within(0) == 4);
  CHECK(buffer_within(UINT64_MAX) > 1'000'000);
}

TEST_CASE("memory is claimed for as long as something is under way") {
  MemoryClaim::Claims claims;
  {
    const MemoryClaim first(claims, "0::/web", 10);
    const MemoryClaim other(claims, "0::/other", 7);
    {
      const MemoryClaim second(claims, "0::/web", 5);
      CHECK(claims.at("0::/web") == 15);
    }
    CHECK(claims.at("0::/web") == 10);
    CHECK(claims.at("0::/other") == 7);
  }
  CHECK(claims.empty());
}
