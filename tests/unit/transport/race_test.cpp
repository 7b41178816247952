#include "transport/race.hpp"

#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

#include "tests/unit/streams.hpp"
#include "transport/event.hpp"

using namespace farport::transport;
using namespace std::chrono_literals;

namespace {

/// What becomes of work: whether its frame still holds what it held.
struct Trace {
  bool alive = false;
  bool ended = false;
};

/// Passes with a word once `go` is set.
Task<std::string> work(Event& go, Trace& trace) {
  struct Alive {
    explicit Alive(bool& now) : alive(now) { alive = true; }
    ~Alive() { alive = false; }
    bool& alive;
  } const held(trace.alive);
  co_await go.wait();
  trace.ended = true;
  co_return "done";
}

Task<std::string> at_once() {
  co_return "done";
}

Task<void> silent_work(Event& go) {
  co_await go.wait();
}

Task<std::string> failing(Event& go) {
  co_await go.wait();
  throw std::runtime_error("broken");
}

struct Race {
  Loop loop;
  Event go{loop};
  Event stop{loop};
  Trace trace;
};

constexpr Milliseconds kLong{3'600'000};

}  // namespace

TEST_CASE("work that ends first has its result, and leaves the event as it was", "[transport]") {
  Race race;
  auto scenario = [&]() -> Task<void> {
    race.go.set();
    const auto result = co_await first_of(work(race.go, race.trace), race.stop.wait());
    CHECK(result == "done");
    CHECK_FALSE(race.trace.alive);
    race.stop.set();
    co_await race.stop.wait();
  };
  race.loop.run(scenario());
}

TEST_CASE("work that is overtaken is cancelled where it waits", "[transport]") {
  Race race;
  auto scenario = [&]() -> Task<void> {
    TaskSet others(race.loop);
    others.spawn([](Race& in) -> Task<void> {
      co_await next_turn(in.loop);
      CHECK(in.trace.alive);
      in.stop.set();
    }(race));
    const auto result = co_await first_of(work(race.go, race.trace), race.stop.wait());
    CHECK_FALSE(result);
    CHECK_FALSE(race.trace.alive);
    CHECK_FALSE(race.trace.ended);
    // Nobody waits for it any more.
    race.go.set();
    co_await race.go.wait();
  };
  race.loop.run(scenario());
}

TEST_CASE("work that ends at once does not begin to wait for the other", "[transport]") {
  Race race;
  auto scenario = [&]() -> Task<void> {
    race.stop.set();
    const auto result = co_await first_of(at_once(), race.stop.wait());
    CHECK(result == "done");
    // It is still set.
    co_await race.stop.wait();
    const auto in_time = co_await with_deadline(race.loop, at_once(), 0ms);
    CHECK(in_time == "done");
  };
  race.loop.run(scenario());
}

TEST_CASE("where both are ready in one turn, the first one wins and the other never runs", "[transport]") {
  Race race;
  auto scenario = [&]() -> Task<void> {
    TaskSet others(race.loop);
    others.spawn([](Race& in) -> Task<void> {
      co_await next_turn(in.loop);
      in.go.set();
      in.stop.set();
      co_await next_turn(in.loop);
      in.stop.set();
      in.go.set();
    }(race));
    const auto first = co_await first_of(work(race.go, race.trace), race.stop.wait());
    CHECK(first == "done");
    co_await race.stop.wait();
    race.trace.ended = false;
    const auto second = co_await first_of(work(race.go, race.trace), race.stop.wait());
    CHECK_FALSE(second);
    CHECK_FALSE(race.trace.ended);
  };
  race.loop.run(scenario());
}

TEST_CASE("a race throws what its work throws, and nothing that the loser would have", "[transport]") {
  Race race;
  auto scenario = [&]() -> Task<void> {
    race.stop.set();
    const auto cancelled = co_await first_of(failing(race.go), race.stop.wait());
    CHECK_FALSE(cancelled);
    race.go.set();
    std::string thrown;
    try {
      std::ignore = co_await first_of(failing(race.go), race.stop.wait());
    } catch (const std::runtime_error& error) {
      thrown = error.what();
    }
    CHECK(thrown == "broken");
  };
  race.loop.run(scenario());
}

TEST_CASE("work without a result tells whether it came to its end", "[transport]") {
  Race race;
  auto scenario = [&]() -> Task<void> {
    const bool late = co_await with_deadline(race.loop, silent_work(race.go), 0ms);
    CHECK_FALSE(late);
    race.go.set();
    const bool in_time = co_await with_deadline(race.loop, silent_work(race.go), kLong);
    CHECK(in_time);
  };
  race.loop.run(scenario());
}

TEST_CASE("work has no longer than its deadline", "[transport]") {
  Race race;
  auto scenario = [&]() -> Task<void> {
    const auto late = co_await with_deadline(race.loop, work(race.go, race.trace), 1ms);
    CHECK_FALSE(late);
    CHECK_FALSE(race.trace.alive);
    race.go.set();
    const auto in_time = co_await with_deadline(race.loop, work(race.go, race.trace), kLong);
    CHECK(in_time == "done");
  };
  race.loop.run(scenario());
}

TEST_CASE("waiting has a deadline too, and an event that comes too late stays set", "[transport]") {
  Race race;
  auto scenario = [&]() -> Task<void> {
    const bool late = co_await with_deadline(race.loop, race.go.wait(), 0ms);
    CHECK_FALSE(late);
    race.go.set();
    const bool in_time = co_await with_deadline(race.loop, race.go.wait(), kLong);
    CHECK(in_time);
    const bool again = co_await with_deadline(race.loop, race.go.wait(), 0ms);
    CHECK_FALSE(again);
  };
  race.loop.run(scenario());
}

TEST_CASE("races nest", "[transport]") {
  Race race;
  const auto inner = [](Race& in) -> Task<bool> {
    const auto result = co_await first_of(work(in.go, in.trace), in.stop.wait());
    co_return result.has_value();
  };
  auto scenario = [&]() -> Task<void> {
    const auto late = co_await with_deadline(race.loop, inner(race), 0ms);
    CHECK_FALSE(late);
    CHECK_FALSE(race.trace.alive);
    race.stop.set();
    const auto stopped = co_await with_deadline(race.loop, inner(race), kLong);
    CHECK(stopped == false);
    race.go.set();
    const auto done = co_await with_deadline(race.loop, inner(race), kLong);
    CHECK(done == true);
  };
  race.loop.run(scenario());
}

TEST_CASE("a race that is cancelled from outside takes both sides with it", "[transport]") {
  Race race;
  auto scenario = [&]() -> Task<void> {
    Task<void> racing = [](Race& in) -> Task<void> {
      std::ignore = co_await first_of(work(in.go, in.trace), in.stop.wait());
      FAIL("it went on");
    }(race);
    racing.start();
    Task<void> limited = [](Race& in) -> Task<void> {
      co_await with_deadline(in.loop, sleep(in.loop, kLong), 0ms);
      FAIL("it went on");
    }(race);
    limited.start();
    CHECK(race.trace.alive);
    // Both are ready to go on by now.
    race.go.set();
    race.stop.set();
    racing.reset();
    limited.reset();
    CHECK_FALSE(race.trace.alive);
    co_await sleep(race.loop, 1ms);
  };
  race.loop.run(scenario());
}

TEST_CASE("what is to happen when a peer is gone happens once, and not to one who is no longer asked",
          "[transport]") {
  Loop loop;
  auto [ours, theirs] = farport::test::make_pair(loop);
  auto scenario = [&]() -> Task<void> {
    int times = 0;
    int never = 0;
    {
      const WhenGone forgotten(*ours, [&never] { ++never; });
    }
    Event gone(loop);
    const WhenGone guard(*ours, [&] {
      ++times;
      gone.set();
    });
    theirs.reset();
    co_await gone.wait();
    co_await sleep(loop, 1ms);
    CHECK(times == 1);
    CHECK(never == 0);
  };
  loop.run(scenario());
}

TEST_CASE("work for a peer ends when the peer is gone", "[transport]") {
  Loop loop;
  Event go(loop);
  Trace trace;
  auto [ours, theirs] = farport::test::make_pair(loop);
  auto scenario = [&]() -> Task<void> {
    theirs.reset();
    const auto result = co_await first_of(work(go, trace), ours->gone());
    CHECK_FALSE(result);
    CHECK_FALSE(trace.alive);
  };
  loop.run(scenario());
}

TEST_CASE("the wish to stop stays, and reaches all that wait for it", "[transport]") {
  Loop loop;
  StopSource stop(loop);
  int passed = 0;
  const auto waits = [](StopSource& source, int& count) -> Task<void> {
    co_await source.wait();
    ++count;
  };
  Task<void> first = waits(stop, passed);
  Task<void> second = waits(stop, passed);
  first.start();
  second.start();
  auto scenario = [&]() -> Task<void> {
    const bool before = co_await with_deadline(loop, stop.wait(), 1ms);
    CHECK_FALSE(before);
    stop.stop();
    co_await sleep(loop, 1ms);
    CHECK(passed == 2);
    // Whoever comes later hears of it, too; but not as of one more.
    co_await stop.wait();
    const bool second_wish = co_await with_deadline(loop, stop.again(), 1ms);
    CHECK_FALSE(second_wish);
    stop.stop();
    co_await stop.again();
  };
  loop.run(scenario());
}

TEST_CASE("two wishes at once, and a first one where a second one is waited for", "[transport]") {
  Loop loop;
  StopSource twice(loop);
  StopSource once(loop);
  auto scenario = [&]() -> Task<void> {
    twice.stop();
    twice.stop();
    co_await twice.wait();
    co_await twice.again();
    // Work that nobody wanted to stop so far.
    const auto wait_for_more = [](StopSource& source) -> Task<void> { co_await source.again(); };
    Task<void> waiting = wait_for_more(once);
    waiting.start();
    once.stop();
    co_await sleep(loop, 1ms);
    CHECK(waiting.done());
  };
  loop.run(scenario());
}
