#include "transport/share.hpp"

#include <string>

#include <catch2/catch.hpp>

#include "transport/task_set.hpp"

using namespace farport::transport;
using namespace std::chrono_literals;

namespace {

/// Does so many pieces of work, each of which takes so long as far as the share is told.
Task<void> work(Share& share, std::string& order, char name, int pieces, Share::Clock::duration each) {
  for (int i = 0; i < pieces; ++i) {
    co_await share.turn();
    order += name;
    share.charge(each);
  }
}

}  // namespace

TEST_CASE("a share that is not used up lets work pass at once", "[transport]") {
  Loop loop;
  Share share(loop, 2ms);
  std::string order;
  TaskSet tasks(loop);
  tasks.spawn(work(share, order, 'a', 3, 100us));
  CHECK(order == "aaa");
  CHECK_FALSE(share.used_up());
}

TEST_CASE("work beyond a share goes on in later turns, in the order in which it came", "[transport]") {
  Loop loop;
  Share share(loop, 2ms);
  std::string order;
  auto scenario = [&]() -> Task<void> {
    TaskSet tasks(loop);
    tasks.spawn(work(share, order, 'a', 3, 5ms));
    tasks.spawn(work(share, order, 'b', 2, 5ms));
    tasks.spawn(work(share, order, 'c', 1, 5ms));
    CHECK(order == "a");
    co_await tasks.idle();
  };
  loop.run(scenario());
  CHECK(order == "aabcab");
}

TEST_CASE("one party's share is not another's", "[transport]") {
  Loop loop;
  Share busy(loop, 2ms);
  Share other(loop, 2ms);
  busy.charge(1s);
  CHECK(busy.used_up());
  CHECK_FALSE(other.used_up());
}

TEST_CASE("a party that rests does nothing until it is over", "[transport]") {
  Loop loop;
  Share share(loop, 2ms);
  std::string order;
  share.rest(20ms);
  CHECK(share.used_up());
  const std::uint64_t began = loop.now_ms();
  loop.run(work(share, order, 'a', 1, 1us));
  CHECK(order == "a");
  CHECK(loop.now_ms() - began >= 20);
}

TEST_CASE("work that is cancelled while it waits holds up no other", "[transport]") {
  Loop loop;
  Share share(loop, 2ms);
  std::string order;
  auto scenario = [&]() -> Task<void> {
    TaskSet tasks(loop);
    share.charge(5ms);
    Task<void> cancelled = work(share, order, 'x', 1, 1us);
    cancelled.start();
    tasks.spawn(work(share, order, 'a', 1, 1us));
    cancelled.reset();
    co_await tasks.idle();
  };
  loop.run(scenario());
  CHECK(order == "a");
}
