#include "router/agent/api/followers.hpp"

#include <catch2/catch.hpp>

#include "transport/loop.hpp"
#include "transport/task_set.hpp"

namespace farport::router {
namespace {

Caller named(const std::string& name) {
  Caller caller;
  caller.identity.emplace();
  caller.identity->common_name = name;
  return caller;
}

transport::Task<void> note_when_back(Followers& followers, bool& all_are) {
  co_await followers.all_back();
  all_are = true;
}

transport::Task<void> one_turn(transport::Loop& loop) {
  co_await transport::next_turn(loop);
}

transport::Task<void> end_of(transport::TaskSet& tasks) {
  co_await tasks.idle();
}

}  // namespace

TEST_CASE("who was cut off is lacking until they follow again", "[api]") {
  transport::Loop loop;
  Followers followers(loop);
  followers.cut_off(named("alice"));
  CHECK(followers.lack(named("alice")));
  CHECK_FALSE(followers.lack(named("bob")));
  const Followers::Following again(followers, named("alice"));
  CHECK_FALSE(followers.lack(named("alice")));
  // The end of the session that was left behind comes late.
  followers.cut_off(named("alice"));
  CHECK_FALSE(followers.lack(named("alice")));
}

TEST_CASE("all are back once the last one is, or is forgotten", "[api]") {
  transport::Loop loop;
  Followers followers(loop);
  const auto now = Followers::Clock::now();
  followers.cut_off(named("alice"), now - std::chrono::seconds(70));
  followers.cut_off(named("bob"), now);
  bool all_are = false;
  transport::TaskSet waiting(loop);
  waiting.spawn(note_when_back(followers, all_are));
  followers.forget_before(now - std::chrono::seconds(60));
  loop.run(one_turn(loop));
  CHECK_FALSE(all_are);
  CHECK(followers.absent().size() == 1);
  const Followers::Following again(followers, named("bob"));
  loop.run(end_of(waiting));
  CHECK(all_are);
}

TEST_CASE("only so many who were cut off are remembered", "[api]") {
  transport::Loop loop;
  Followers followers(loop);
  const auto now = Followers::Clock::now();
  for (std::size_t number = 0; number <= Followers::kMostAbsent; ++number)
    followers.cut_off(named(std::to_string(number)), now + std::chrono::seconds(number));
  CHECK(followers.absent().size() == Followers::kMostAbsent);
  CHECK_FALSE(followers.lack(named("0")));
}

}  // namespace farport::router
