#include <vector>

#include <catch2/catch.hpp>

#include "router/readers/reader_process.hpp"
#include "transport/race.hpp"
#include "transport/task_set.hpp"
#include "transport/timer.hpp"

using namespace farport;
using namespace farport::router;

namespace {

using transport::Task;
using PlacePtr = std::unique_ptr<ReaderBudget::Place>;

Task<PlacePtr> take_soon(transport::Loop& loop, ReaderBudget& budget, std::string owner, std::uint64_t bytes,
                         std::optional<uid_t> user = std::nullopt) {
  auto taken =
      co_await with_deadline(loop, budget.take(std::move(owner), bytes, user), transport::Milliseconds(20));
  co_return taken ? std::move(*taken) : nullptr;
}

Task<bool> is_needed(transport::Loop& loop, ReaderBudget::Place& place) {
  const bool needed = co_await with_deadline(loop, place.needed().wait(), transport::Milliseconds(5));
  co_return needed;
}

}  // namespace

TEST_CASE("readers have no more than there is, and nobody all of it", "[readers]") {
  transport::Loop loop;
  ReaderBudget budget(loop, 100);
  const auto take = [&](const std::string& owner, std::uint64_t bytes) {
    return loop.run(take_soon(loop, budget, owner, bytes));
  };
  PlacePtr first = take("alice", 50);
  REQUIRE(first != nullptr);
  CHECK(take("alice", 1) == nullptr);
  const PlacePtr second = take("bob", 40);
  REQUIRE(second != nullptr);
  CHECK(take("carol", 20) == nullptr);
  first.reset();
  CHECK(take("carol", 20) != nullptr);
}

TEST_CASE("a user whose runtimes have most gives back what another's need", "[readers]") {
  transport::Loop loop;
  ReaderBudget budget(loop, 80);
  std::vector<PlacePtr> places;
  const auto take = [&](uid_t user) {
    PlacePtr taken = loop.run(take_soon(loop, budget, "metrics", 10, user));
    const bool has = taken != nullptr;
    if (has) places.push_back(std::move(taken));
    return has;
  };
  const auto needed = [&](std::size_t of) { return loop.run(is_needed(loop, *places[of])); };
  for (int count = 0; count < 4; ++count) CHECK(take(1000));
  // One's own are not asked for.
  CHECK(!take(1000));
  CHECK(!needed(3));
  CHECK(!take(1001));
  CHECK(needed(0));
  CHECK(!needed(1));
  places.erase(places.begin());
  CHECK(take(1001));
  // Two of each are equal parts.
  CHECK(!take(1001));
  CHECK(needed(0));
  places.erase(places.begin());
  CHECK(take(1001));
  CHECK(!take(1001));
  for (std::size_t place = 0; place < places.size(); ++place) CHECK(!needed(place));
}

TEST_CASE("what is given back goes to the user who has least, however long others wait", "[readers]") {
  transport::Loop loop;
  ReaderBudget budget(loop, 80);
  std::vector<PlacePtr> places;
  for (int count = 0; count < 4; ++count) places.push_back(loop.run(budget.take("metrics", 10, 1000)));
  struct Taken {
    uid_t by = 0;
    PlacePtr place{};
  };
  std::vector<Taken> order;
  const auto wait = [](ReaderBudget& of, uid_t user, std::vector<Taken>& to) -> Task<void> {
    auto place = co_await of.take("metrics", 10, user);
    to.push_back({user, std::move(place)});
  };
  const auto give_back = [](transport::Loop& on, std::vector<PlacePtr>& from) -> Task<void> {
    from.erase(from.begin());
    co_await transport::sleep(on, transport::Milliseconds(5));
  };
  transport::TaskSet waiting(loop);
  for (const uid_t user : {1000, 1000, 1001}) waiting.spawn(wait(budget, user, order));
  loop.run(give_back(loop, places));
  REQUIRE(order.size() == 1);
  CHECK(order.front().by == 1001);
}

TEST_CASE("who waits for memory gets it when another has done with it", "[readers]") {
  transport::Loop loop;
  ReaderBudget budget(loop, 100);
  PlacePtr first = loop.run(budget.take("alice", 50));
  const auto wait = [](transport::Loop& on, ReaderBudget& of, PlacePtr& before) -> Task<PlacePtr> {
    Task<PlacePtr> waiting = of.take("alice", 50);
    waiting.start();
    co_await transport::sleep(on, transport::Milliseconds(5));
    before.reset();
    auto place = co_await std::move(waiting);
    co_return place;
  };
  CHECK(loop.run(wait(loop, budget, first)) != nullptr);
}

TEST_CASE("a reader's share fits into what there is for all", "[readers]") {
  transport::Loop loop;
  for (const std::uint64_t mib : {16, 32, 512, 1024}) {
    const ReaderBudget budget(loop, mib << 20);
    for (const auto kind :
         {ReadingRequest::Kind::logs, ReadingRequest::Kind::heap, ReadingRequest::Kind::metrics})
      CHECK(budget.share_of(kind) <= budget.total() / 2);
  }
}
