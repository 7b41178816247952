#include <catch2/catch.hpp>

#include "transport/timer.hpp"

using namespace farport::transport;
using namespace std::chrono_literals;

TEST_CASE("pauses double up to the longest, shortened by up to half", "[transport]") {
  Backoff backoff(100ms, 400ms);
  for (const Milliseconds longest : {100ms, 200ms, 400ms, 400ms}) {
    const Milliseconds pause = backoff.next();
    CHECK(pause >= longest / 2);
    CHECK(pause <= longest);
  }
  backoff.reset();
  CHECK(backoff.next() <= 100ms);
}
