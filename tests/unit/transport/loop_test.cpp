// A descriptor's events are told to who watches it, and to nobody once it is forgotten.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>

#include "tests/unit/streams.hpp"

using namespace farport::test;
using farport::UniqueFd;

namespace {

struct Counted final : farport::transport::FdListener {
  int told = 0;
  void on_events(std::uint32_t /*events*/) override { ++told; }
};

struct Pair {
  UniqueFd ours;
  UniqueFd peers;

  Pair() {
    int fds[2] = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    ours = UniqueFd(fds[0]);
    peers = UniqueFd(fds[1]);
  }
  void send() const { REQUIRE(::send(peers.get(), "x", 1, MSG_NOSIGNAL) == 1); }
};

/// Lets the loop poll.
void turn(Loop& loop) {
  const auto wait = [](Loop& of) -> Task<void> {
    co_await farport::transport::next_turn(of);
    co_await farport::transport::Sleep(of, farport::transport::Milliseconds(1));
  };
  loop.run(wait(loop));
}

}  // namespace

TEST_CASE("what a closed descriptor's copy hears is told to nobody") {
  Loop loop;
  Counted first;
  Pair pair;
  const Pair other;
  REQUIRE(loop.watch(pair.ours.get(), first) == 0);
  pair.send();
  turn(loop);
  CHECK(first.told == 1);

  // As in a child that is being started: until it runs its program, the socket stays in the epoll set.
  const UniqueFd copy(::fcntl(pair.ours.get(), F_DUPFD_CLOEXEC, 100));
  const int number = pair.ours.get();
  loop.forget(number);
  pair.ours.reset();
  pair.send();
  turn(loop);
  CHECK(first.told == 1);

  // Another one gets its number.
  Counted second;
  const UniqueFd next(::fcntl(other.ours.get(), F_DUPFD_CLOEXEC, number));
  REQUIRE(next.get() == number);
  REQUIRE(loop.watch(number, second) == 0);
  pair.send();
  turn(loop);
  CHECK(first.told == 1);
  CHECK(second.told == 0);
  other.send();
  turn(loop);
  CHECK(second.told == 1);
  loop.forget(number);
}

TEST_CASE("a listener that is forgotten by another one in the same turn is not told") {
  Loop loop;
  struct Forgetting final : farport::transport::FdListener {
    Loop& loop;
    int other = -1;
    bool told = false;
    explicit Forgetting(Loop& of) : loop(of) {}
    void on_events(std::uint32_t /*events*/) override {
      told = true;
      loop.forget(other);
    }
  };
  Forgetting one(loop);
  Forgetting two(loop);
  const Pair first;
  const Pair second;
  one.other = second.ours.get();
  two.other = first.ours.get();
  REQUIRE(loop.watch(first.ours.get(), one) == 0);
  REQUIRE(loop.watch(second.ours.get(), two) == 0);
  first.send();
  second.send();
  turn(loop);
  CHECK(one.told != two.told);
}
