#include "transport/rest.hpp"

#include <catch2/catch.hpp>

#include "transport/event.hpp"
#include "transport/task_set.hpp"

using namespace farport::transport;
using namespace std::chrono_literals;

TEST_CASE("work for a time of rest is done once after each change", "[transport]") {
  Loop loop;
  int state = 0;
  int acts = 0;
  Event acted(loop);
  auto scenario = [&]() -> Task<void> {
    TaskSet tasks(loop);
    const auto look = [&state] { return state; };
    const auto act = [&] {
      ++acts;
      acted.set();
    };
    tasks.spawn(at_rest(loop, look, act, 5ms));
    co_await acted.wait();
    co_await sleep(loop, 50ms);
    CHECK(acts == 1);
    ++state;
    co_await acted.wait();
    co_await sleep(loop, 50ms);
    CHECK(acts == 2);
    tasks.clear();
    const auto never_the_same = [&state] { return ++state; };
    tasks.spawn(at_rest(loop, never_the_same, act, 5ms));
    co_await acted.wait();
    CHECK(acts == 3);
    tasks.clear();
  };
  loop.run(scenario());
}
