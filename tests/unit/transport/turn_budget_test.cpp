#include <algorithm>
#include <numeric>
#include <string>

#include <catch2/catch.hpp>

#include "tests/unit/streams.hpp"
#include "transport/share.hpp"
#include "transport/task_set.hpp"

using namespace farport::transport;
using namespace std::chrono_literals;

namespace {

Task<void> work(Loop& loop, std::string& order, char name, int pieces, TurnBudget::Clock::duration per_turn) {
  TurnBudget budget(loop, per_turn);
  for (int i = 0; i < pieces; ++i) {
    co_await budget.yield_if_used_up();
    order += name;
  }
}

/// The order in which two pieces of work go on that begin in one turn, each with such a budget: what has been
/// done when both have begun, and in the end.
std::pair<std::string, std::string> order_with(TurnBudget::Clock::duration per_turn) {
  Loop loop;
  std::string order;
  std::string begun;
  auto scenario = [&]() -> Task<void> {
    // So that both begin in one turn.
    co_await sleep(loop, 0ms);
    TaskSet tasks(loop);
    tasks.spawn(work(loop, order, 'a', 3, per_turn));
    tasks.spawn(work(loop, order, 'b', 3, per_turn));
    begun = order;
    co_await tasks.idle();
  };
  loop.run(scenario());
  return {begun, order};
}

std::uint64_t total(const DurationHistogram& durations) {
  return std::accumulate(durations.counts().begin(), durations.counts().end(), std::uint64_t{0});
}

}  // namespace

TEST_CASE("work goes on while its budget lasts", "[transport]") {
  CHECK(order_with(1h).first == "aaabbb");
}

TEST_CASE("work without a budget left lets everybody else run before each piece", "[transport]") {
  const auto [begun, order] = order_with(0h);
  CHECK(begun == "ab");
  CHECK(order == "ababab");
}

TEST_CASE("work that is cancelled while it gives way is not resumed", "[transport]") {
  Loop loop;
  std::string order;
  auto scenario = [&]() -> Task<void> {
    co_await sleep(loop, 0ms);
    {
      TaskSet tasks(loop);
      tasks.spawn(work(loop, order, 'a', 3, 0h));
    }
    co_await sleep(loop, 1ms);
  };
  loop.run(scenario());
  CHECK(order == "a");
}

TEST_CASE("durations are counted in the bucket whose bound they don't pass", "[transport]") {
  DurationHistogram durations(Loop::kStallBounds);
  durations.record(0ns);
  durations.record(1ms);
  durations.record(1ms + 1ns);
  durations.record(1s);
  durations.record(1s + 1ns);
  durations.record(1h);
  const std::vector<std::uint64_t> expected{2, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2};
  CHECK(durations.counts() == expected);
  CHECK(durations.sum() == 1h + 2s + 2ms + 2ns);
}

TEST_CASE("each turn of a loop is counted, however long it took", "[transport]") {
  Loop loop;
  constexpr auto kBusy = 20ms;
  auto scenario = [&]() -> Task<void> {
    co_await sleep(loop, 50ms);
    const auto began = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - began < kBusy) {
    }
    co_await sleep(loop, 0ms);
  };
  loop.run(scenario());
  CHECK(total(loop.stalls()) >= 2);
  CHECK(loop.stalls().sum() >= kBusy);
  const auto& counts = loop.stalls().counts();
  const auto longer = std::find(Loop::kStallBounds.begin(), Loop::kStallBounds.end(), kBusy);
  const auto first = longer - Loop::kStallBounds.begin() + 1;
  CHECK(std::accumulate(counts.begin() + first, counts.end(), std::uint64_t{0}) >= 1);
}
