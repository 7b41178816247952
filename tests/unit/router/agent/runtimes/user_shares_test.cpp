// What the runtimes of one user may take of the agent.
#include "router/agent/runtimes/user_shares.hpp"

#include <vector>

#include <catch2/catch.hpp>

#include "tests/unit/streams.hpp"

using namespace farport;
using namespace farport::test;
using router::ProbeSlots;

namespace {

constexpr uid_t kSelf = 10;
constexpr uid_t kOther = 1000;

Task<void> hold(ProbeSlots& slots, uid_t user, std::vector<ProbeSlots::Slot>& held) {
  ProbeSlots::Slot slot = co_await slots.take(user);
  held.push_back(std::move(slot));
}

}  // namespace

TEST_CASE("other users get an eighth of the descriptors each, and no more than a thousand") {
  CHECK(router::user_shares(1024, kSelf).of(kOther) == 128);
  CHECK(router::user_shares(1024, kSelf).of(kSelf) == 512);
  CHECK(router::user_shares(1024, kSelf).of(0) == 512);
  CHECK(router::user_shares(1'000'000, kSelf).of(kOther) == 1000);
  CHECK(router::user_shares(20, kSelf).of(kOther) == 16);
}

TEST_CASE("a user's questions wait for their turn, and hold up no other user's") {
  Loop loop;
  const router::UserShares shares = router::user_shares(1024, kSelf);
  ProbeSlots slots(loop, shares);
  loop.run([](Loop& on, ProbeSlots& all, std::size_t most) -> Task<void> {
    std::vector<ProbeSlots::Slot> held;
    std::vector<ProbeSlots::Slot> others;
    transport::TaskSet tasks(on);
    for (std::size_t i = 0; i < most + 3; ++i) tasks.spawn(hold(all, kOther, held));
    CHECK(held.size() == most);
    tasks.spawn(hold(all, kSelf, others));
    CHECK(others.size() == 1);
    held.erase(held.begin(), held.begin() + 2);
    co_await transport::next_turn(on);
    co_await transport::next_turn(on);
    CHECK(held.size() == most);
    // One that waits is given up; its turn goes to nobody.
    CHECK(tasks.size() == 1);
    tasks.clear();
    held.clear();
    tasks.spawn(hold(all, kOther, held));
    CHECK(held.size() == 1);
  }(loop, slots, shares.questions(kOther)));
}
