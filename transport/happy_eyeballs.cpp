#include "transport/happy_eyeballs.hpp"

#include <algorithm>
#include <optional>

#include "transport/race.hpp"
#include "transport/task_set.hpp"

namespace farport::transport {
namespace {

struct Race {
  explicit Race(Loop& in) : loop(in), changed(in) {}

  Loop& loop;
  Event changed;
  std::size_t running = 0;
  std::optional<Connected> won;
  std::optional<Error> failure;
};

Task<void> attempt(Race& race, Address address, Milliseconds limit) {
  ++race.running;
  auto connection = co_await connect_tcp(race.loop, address, limit);
  --race.running;
  if (!connection && !race.failure) race.failure = connection.error();
  if (connection && !race.won) {
    race.won.emplace();
    race.won->stream = std::move(*connection);
    race.won->address = address;
  }
  race.changed.set();
}

}  // namespace

std::vector<Address> by_turns(const std::vector<Address>& addresses) {
  std::vector<Address> left = addresses;
  std::vector<Address> turns;
  while (!left.empty()) {
    const auto other_family = [&](const Address& address) {
      return turns.empty() || address.storage.ss_family != turns.back().storage.ss_family;
    };
    auto next = std::find_if(left.begin(), left.end(), other_family);
    if (next == left.end()) next = left.begin();
    turns.push_back(*next);
    left.erase(next);
  }
  return turns;
}

Task<Result<Connected>> connect_any(Loop& loop, std::vector<Address> addresses, Milliseconds limit) {
  Race race(loop);
  TaskSet attempts(loop);
  for (const Address& address : addresses) {
    attempts.spawn(attempt(race, address, limit));
    if (!race.won) co_await with_deadline(loop, race.changed.wait(), kAttemptDelay);
    if (race.won) break;
  }
  while (!race.won && race.running > 0) co_await race.changed.wait();
  if (race.won) co_return std::move(*race.won);
  if (race.failure) co_return tl::unexpected(*race.failure);
  co_return fail("connect to", "an agent", "it has no address");
}

}  // namespace farport::transport
