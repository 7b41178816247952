#include <catch2/catch.hpp>

#include "router/readers/reader_process.hpp"
#include "transport/race.hpp"

using namespace farport;
using namespace farport::router;

namespace {

using transport::Task;
using PlacePtr = std::unique_ptr<ReaderBudget::Place>;

Task<PlacePtr> take_soon(transport::Loop& loop, ReaderBudget& budget, std::string owner,
                         std::uint64_t bytes) {
  auto taken =
      co_await with_deadline(loop, budget.take(std::move(owner), bytes), transport::Milliseconds(20));
  co_return taken ? std::move(*taken) : nullptr;
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
