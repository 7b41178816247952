#include <catch2/catch.hpp>

#include "tests/unit/streams.hpp"

using namespace farport;
using namespace farport::test;
using namespace std::chrono_literals;

TEST_CASE("what is written at one end is read at the other, then the end") {
  Loop loop;
  auto [left, right] = make_pair(loop);
  const std::string sent = pattern(3'000'000);
  std::string got;
  auto both = [&]() -> Task<void> {
    transport::TaskSet tasks(loop);
    tasks.spawn([](Stream& to, std::string text) -> Task<void> {
      const IoStatus status1 = co_await write_all(to, std::move(text), true);
      REQUIRE(status1 == IoStatus::ok);
    }(*left, sent));
    got = co_await read_all(*right);
    co_await tasks.idle();
  };
  loop.run(both());
  REQUIRE(got == sent);
}

TEST_CASE("a writer waits while nobody reads, and goes on when somebody does") {
  Loop loop;
  auto [left, right] = make_pair(loop);
  bool written = false;
  auto scenario = [&]() -> Task<void> {
    transport::TaskSet tasks(loop);
    tasks.spawn([](Stream& to, bool& done) -> Task<void> {
      std::ignore = co_await write_all(to, pattern(2'000'000), true);
      done = true;
    }(*left, written));
    co_await transport::sleep(loop, 30ms);
    CHECK_FALSE(written);
    const std::string got = co_await read_all(*right);
    CHECK(got.size() == 2'000'000);
    co_await tasks.idle();
  };
  loop.run(scenario());
  REQUIRE(written);
}

TEST_CASE("each direction ends by itself") {
  Loop loop;
  auto [left, right] = make_pair(loop);
  auto scenario = [&]() -> Task<void> {
    const IoStatus status2 = co_await write_all(*left, "question", true);
    CHECK(status2 == IoStatus::ok);
    const std::string question = co_await read_all(*right);
    CHECK(question == "question");
    const IoStatus status3 = co_await write_all(*right, "answer", true);
    CHECK(status3 == IoStatus::ok);
    const std::string answer = co_await read_all(*left);
    CHECK(answer == "answer");
  };
  loop.run(scenario());
}

TEST_CASE("aborting a stream fails the reader and the writer that wait on it") {
  Loop loop;
  auto [left, right] = make_pair(loop);
  IoStatus read = IoStatus::ok;
  IoStatus written = IoStatus::ok;
  auto scenario = [&]() -> Task<void> {
    transport::TaskSet tasks(loop);
    tasks.spawn([](Stream& from, IoStatus& status) -> Task<void> {
      const std::string nothing = co_await read_all(from, &status);
      CHECK(nothing.empty());
    }(*left, read));
    tasks.spawn([](Stream& to, IoStatus& status) -> Task<void> {
      status = co_await write_all(to, pattern(2'000'000), false);
    }(*left, written));
    co_await transport::sleep(loop, 10ms);
    left->abort(Error{"carry", "this test", "it was aborted"});
    co_await tasks.idle();
  };
  loop.run(scenario());
  REQUIRE(read == IoStatus::failed);
  REQUIRE(written == IoStatus::failed);
  REQUIRE(left->error().message() == "cannot carry this test: it was aborted");
}

TEST_CASE("a peer that finishes sending is not gone, one that closes is") {
  Loop loop;
  auto [left, right] = make_pair(loop);
  bool gone = false;
  auto scenario = [&]() -> Task<void> {
    transport::TaskSet tasks(loop);
    tasks.spawn([](Stream& stream, bool& flag) -> Task<void> {
      co_await stream.gone();
      flag = true;
    }(*left, gone));
    std::ignore = co_await right->finish();
    co_await transport::sleep(loop, 20ms);
    CHECK_FALSE(gone);
    right.reset();
    co_await tasks.idle();
  };
  loop.run(scenario());
  REQUIRE(gone);
}

TEST_CASE("destroying a waiting coroutine leaves the stream usable") {
  Loop loop;
  auto [left, right] = make_pair(loop);
  auto scenario = [&]() -> Task<void> {
    {
      transport::TaskSet tasks(loop);
      tasks.spawn([](Stream& from) -> Task<void> { std::ignore = co_await read_all(from); }(*left));
      co_await transport::sleep(loop, 5ms);
    }
    const IoStatus status4 = co_await write_all(*right, "later", true);
    CHECK(status4 == IoStatus::ok);
    const std::string got = co_await read_all(*left);
    CHECK(got == "later");
  };
  loop.run(scenario());
}

TEST_CASE("writing to a peer that has closed fails and names the stream") {
  Loop loop;
  auto [left, right] = make_pair(loop);
  right.reset();
  auto scenario = [&]() -> Task<IoStatus> { return write_all(*left, "anyone?", false); };
  REQUIRE(loop.run(scenario()) == IoStatus::failed);
  REQUIRE(left->error().message() == "cannot write to left: Broken pipe");
}

TEST_CASE("a deadline fires once, and not when it was cancelled") {
  Loop loop;
  int fired = 0;
  auto scenario = [&]() -> Task<void> {
    transport::Deadline early(loop, 5ms, [&] { ++fired; });
    {
      const transport::Deadline destroyed(loop, 5ms, [&] { fired += 100; });
    }
    transport::Deadline cancelled(loop, 5ms, [&] { fired += 100; });
    cancelled.cancel();
    co_await transport::sleep(loop, 30ms);
    CHECK(early.expired());
  };
  loop.run(scenario());
  REQUIRE(fired == 1);
}

TEST_CASE("what was broken off resets its peer, however it was read") {
  const auto [messages, size] =
      GENERATE(table<int, std::size_t>({{1, 20}, {3, 20}, {1, 60'000}, {5, 30'000}}));
  const bool finished = GENERATE(false, true);
  Loop loop;
  auto scenario = [&]() -> Task<void> {
    auto [ours, peer] = make_pair(loop);
    ours->reset_unless_finished();
    for (int i = 0; i < messages; ++i) {
      const std::string message = pattern(size);
      const IoStatus written = co_await write_all(*peer, message, false);
      REQUIRE(written == IoStatus::ok);
      const std::string read = co_await read_some(*ours, size);
      CHECK(read == message);
    }
    if (finished) std::ignore = co_await ours->finish();
    ours.reset();
    IoStatus last = IoStatus::ok;
    std::ignore = co_await read_all(*peer, &last);
    CHECK(last == (finished ? IoStatus::end : IoStatus::failed));
  };
  loop.run(scenario());
}
