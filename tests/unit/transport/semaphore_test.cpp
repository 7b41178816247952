#include "transport/semaphore.hpp"

#include <vector>

#include <catch2/catch.hpp>

#include "transport/task_set.hpp"
#include "transport/timer.hpp"

namespace {

using namespace farport::transport;

/// Notes its number once it has a place, and keeps the place until it is told to go on.
Task<void> work(Semaphore& places, Event& go_on, int number, std::vector<int>& began) {
  const auto place = co_await places.take();
  began.push_back(number);
  co_await go_on.wait();
}

Task<void> turns(Loop& loop) {
  co_await next_turn(loop);
  co_await next_turn(loop);
}

TEST_CASE("a semaphore gives its places in the order in which they were asked for", "[semaphore]") {
  Loop loop;
  Semaphore places(loop, 2);
  Event go_on(loop);
  std::vector<int> began;
  TaskSet working(loop);
  for (int number = 1; number <= 5; ++number) working.spawn(work(places, go_on, number, began));
  CHECK(began == std::vector<int>{1, 2});
  go_on.set();
  loop.run(turns(loop));
  CHECK(began == std::vector<int>{1, 2, 3, 4});
  // One that comes now is the last one, though two places are about to be free.
  go_on.set();
  working.spawn(work(places, go_on, 6, began));
  loop.run(turns(loop));
  CHECK(began == std::vector<int>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("a cancelled wait for a semaphore takes no place", "[semaphore]") {
  Loop loop;
  Semaphore places(loop, 1);
  Event go_on(loop);
  std::vector<int> began;
  TaskSet first(loop);
  first.spawn(work(places, go_on, 1, began));
  TaskSet cancelled(loop);
  cancelled.spawn(work(places, go_on, 2, began));
  TaskSet last(loop);
  last.spawn(work(places, go_on, 3, began));
  // The second one has the place, but has not gone on yet.
  first.clear();
  cancelled.clear();
  loop.run(turns(loop));
  CHECK(began == std::vector<int>{1, 3});
}

}  // namespace
