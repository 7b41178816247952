#include "router/stream/relay.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/streams.hpp"

using namespace farport;
using namespace farport::test;
using namespace std::chrono_literals;

namespace {

/// tool <-> (tool_side relay runtime_side) <-> runtime
struct Joined {
  explicit Joined(Loop& on) : loop(on) {
    std::tie(tool, tool_side) = make_pair(loop);
    std::tie(runtime, runtime_side) = make_pair(loop);
  }

  Task<void> join() {
    outcome = co_await router::relay(*tool_side, *runtime_side, buffers, held);
    over = true;
    tool_side.reset();
    runtime_side.reset();
  }

  Task<void> lose_tool() {
    tool.reset();
    co_await tool_side->gone();
  }

  Loop& loop;
  transport::BufferPool buffers;
  transport::BufferBudget budget{std::uint64_t{1} << 30};
  transport::BufferBudget::LazyReservation held{[this] { return budget.account_of("tests"); }, [] {}};
  std::unique_ptr<FdStream> tool, tool_side, runtime, runtime_side;
  router::RelayOutcome outcome;
  bool over = false;
};

}  // namespace

TEST_CASE("the relay carries both directions and ends when both have ended") {
  Loop loop;
  Joined joined(loop);
  const std::string question = pattern(700'000);
  const std::string answer = pattern(1'900'000);
  auto scenario = [&]() -> Task<void> {
    transport::TaskSet tasks(loop);
    tasks.spawn(joined.join());
    tasks.spawn([](Stream& to, std::string text) -> Task<void> {
      const IoStatus status1 = co_await write_all(to, std::move(text), true);
      CHECK(status1 == IoStatus::ok);
    }(*joined.tool, question));
    const std::string asked = co_await read_all(*joined.runtime);
    CHECK(asked == question);
    tasks.spawn([](Stream& to, std::string text) -> Task<void> {
      const IoStatus status2 = co_await write_all(to, std::move(text), true);
      CHECK(status2 == IoStatus::ok);
    }(*joined.runtime, answer));
    const std::string answered = co_await read_all(*joined.tool);
    CHECK(answered == answer);
    co_await tasks.idle();
  };
  loop.run(scenario());
  CHECK_FALSE(joined.outcome.broken);
  CHECK(joined.outcome.to_runtime == question.size());
  CHECK(joined.outcome.to_tool == answer.size());
}

TEST_CASE("a tool that finishes sending still gets its answer") {
  Loop loop;
  Joined joined(loop);
  auto scenario = [&]() -> Task<void> {
    transport::TaskSet tasks(loop);
    tasks.spawn(joined.join());
    const IoStatus status3 = co_await write_all(*joined.tool, "stop", true);
    CHECK(status3 == IoStatus::ok);
    const std::string asked = co_await read_all(*joined.runtime);
    CHECK(asked == "stop");
    co_await transport::sleep(loop, 20ms);
    CHECK_FALSE(joined.over);
    const IoStatus status4 = co_await write_all(*joined.runtime, "rundown", true);
    CHECK(status4 == IoStatus::ok);
    const std::string answered = co_await read_all(*joined.tool);
    CHECK(answered == "rundown");
    co_await tasks.idle();
  };
  loop.run(scenario());
}

TEST_CASE("a tool that is gone ends the connection at once, with the runtime silent") {
  Loop loop;
  Joined joined(loop);
  auto scenario = [&]() -> Task<void> {
    transport::TaskSet tasks(loop);
    tasks.spawn(joined.join());
    const IoStatus status5 = co_await write_all(*joined.tool, "collect", false);
    CHECK(status5 == IoStatus::ok);
    const std::string asked = co_await read_some(*joined.runtime, 7);
    CHECK(asked == "collect");
    joined.tool.reset();
    const std::string rest = co_await read_all(*joined.runtime);
    CHECK(rest.empty());
    co_await joined.runtime->gone();
    co_await tasks.idle();
  };
  loop.run(scenario());
  CHECK(joined.over);
}

TEST_CASE("what a tool sent before it went is delivered") {
  Loop loop;
  Joined joined(loop);
  auto scenario = [&]() -> Task<void> {
    transport::TaskSet tasks(loop);
    const IoStatus status6 = co_await write_all(*joined.tool, "stop tracing", false);
    CHECK(status6 == IoStatus::ok);
    joined.tool.reset();
    tasks.spawn(joined.join());
    const std::string asked = co_await read_all(*joined.runtime);
    CHECK(asked == "stop tracing");
    co_await tasks.idle();
  };
  loop.run(scenario());
}

TEST_CASE("a runtime that closes ends the connection after its last byte") {
  Loop loop;
  Joined joined(loop);
  const std::string trace = pattern(150'000);
  auto scenario = [&]() -> Task<void> {
    transport::TaskSet tasks(loop);
    tasks.spawn(joined.join());
    tasks.spawn([](std::unique_ptr<FdStream>& runtime, std::string text) -> Task<void> {
      const IoStatus status7 = co_await write_all(*runtime, std::move(text), false);
      CHECK(status7 == IoStatus::ok);
      runtime.reset();
    }(joined.runtime, trace));
    const std::string got = co_await read_all(*joined.tool);
    CHECK(got == trace);
    co_await tasks.idle();
  };
  loop.run(scenario());
  CHECK_FALSE(joined.outcome.broken);
}

TEST_CASE("what is written for a tool that is gone already goes out before the runtime's end is broken off") {
  Loop loop;
  Joined ends(loop);
  auto scenario = [&]() -> Task<void> {
    co_await ends.lose_tool();
    const auto guard = router::abort_when_gone(*ends.tool_side, *ends.runtime_side);
    const IoStatus sent = co_await write_all(*ends.runtime_side, "resume", false);
    CHECK(sent == IoStatus::ok);
    co_await transport::sleep(loop, 10ms);
    CHECK(ends.runtime_side->error().cause == ECANCELED);
    const std::string asked = co_await read_all(*ends.runtime);
    CHECK(asked == "resume");
  };
  loop.run(scenario());
}

TEST_CASE("a guard that is gone in time breaks nothing off") {
  Loop loop;
  Joined ends(loop);
  auto scenario = [&]() -> Task<void> {
    co_await ends.lose_tool();
    { const auto guard = router::abort_when_gone(*ends.tool_side, *ends.runtime_side); }
    co_await transport::sleep(loop, 10ms);
    const IoStatus sent = co_await write_all(*ends.runtime_side, "still there", true);
    CHECK(sent == IoStatus::ok);
  };
  loop.run(scenario());
}

TEST_CASE("a stalled reader holds the sender back instead of filling memory") {
  Loop loop;
  Joined joined(loop);
  auto scenario = [&]() -> Task<void> {
    transport::TaskSet tasks(loop);
    tasks.spawn(joined.join());
    bool sent = false;
    tasks.spawn([](Stream& to, bool& done) -> Task<void> {
      std::ignore = co_await write_all(to, pattern(8'000'000), true);
      done = true;
    }(*joined.runtime, sent));
    co_await transport::sleep(loop, 50ms);
    CHECK_FALSE(sent);
    CHECK(joined.outcome.to_tool < 2'000'000);
    const std::string got = co_await read_all(*joined.tool);
    CHECK(got.size() == 8'000'000);
    joined.tool.reset();
    co_await tasks.idle();
  };
  loop.run(scenario());
}

TEST_CASE("the relay can be cancelled at any moment") {
  for (int delay = 0; delay < 6; ++delay) {
    Loop loop;
    Joined joined(loop);
    auto scenario = [&]() -> Task<void> {
      transport::TaskSet tasks(loop);
      tasks.spawn(joined.join());
      tasks.spawn([](Stream& to) -> Task<void> {
        std::ignore = co_await write_all(to, pattern(4'000'000), false);
      }(*joined.runtime));
      for (int turn = 0; turn < delay; ++turn) co_await transport::next_turn(loop);
    };
    loop.run(scenario());
  }
}
