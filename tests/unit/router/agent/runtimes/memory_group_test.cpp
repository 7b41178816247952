// Buffers for which there is room in an application's memory.
#include "router/agent/runtimes/memory_group.hpp"

#include <cstdint>

#include <catch2/catch.hpp>

using farport::router::buffer_within;

TEST_CASE("a buffer leaves some of the room, and has its least size in any case") {
  constexpr std::uint64_t kMiB = 1 << 20;
  CHECK(buffer_within(100 * kMiB) == 84);
  CHECK(buffer_within(100 * kMiB - 1) == 83);
  CHECK(buffer_within(20 * kMiB) == 4);
  CHECK(buffer_within(12 * kMiB) == 4);
  CHECK(buffer_within(0) == 4);
  CHECK(buffer_within(UINT64_MAX) > 1'000'000);
}
