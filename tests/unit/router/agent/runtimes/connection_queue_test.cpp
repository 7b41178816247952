// Who gets which connection of a runtime that has dialled in.
#include "router/agent/runtimes/connection_queue.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/streams.hpp"

using namespace farport;
using namespace farport::test;
using router::ConnectionQueue;
using router::DiagnosticPort;

namespace {

/// A line, and the runtime's ends of its connections.
struct Dialled {
  explicit Dialled(Loop& on) : loop(on), line(std::make_shared<ConnectionQueue>(on, "orders")) {}

  void dial() {
    auto [ours, theirs] = make_pair(loop);
    line->add(std::move(ours));
    runtime.push_back(std::move(theirs));
  }
  /// Takes a connection and writes `text` on it; the connection, or what was said instead, stays in `taken`.
  Task<void> take(std::string text) {
    auto connection = co_await ConnectionQueue::take(line);
    if (connection) {
      const IoStatus written = co_await write_all(**connection, std::move(text), false);
      CHECK(written == IoStatus::ok);
    }
    taken.push_back(std::move(connection));
  }

  Loop& loop;
  std::shared_ptr<ConnectionQueue> line;
  std::vector<std::unique_ptr<FdStream>> runtime;
  std::vector<DiagnosticPort::Connection> taken;
};

void run(Task<void> (*scenario)(Dialled&)) {
  Loop loop;
  Dialled dialled(loop);
  loop.run(scenario(dialled));
}

}  // namespace

TEST_CASE("commands that wait are served in the order of their coming") {
  run([](Dialled& dialled) -> Task<void> {
    transport::TaskSet tasks(dialled.loop);
    for (const char* text : {"one", "two", "six"}) tasks.spawn(dialled.take(text));
    for (int i = 0; i < 3; ++i) dialled.dial();
    co_await tasks.idle();
    std::string said;
    for (const auto& end : dialled.runtime) said += co_await read_some(*end, 3);
    CHECK(said == "onetwosix");
  });
}

TEST_CASE("a connection that has closed or speaks out of turn is not given to anybody") {
  run([](Dialled& dialled) -> Task<void> {
    for (int i = 0; i < 3; ++i) dialled.dial();
    dialled.runtime[0].reset();
    const IoStatus written = co_await write_all(*dialled.runtime[1], "loud", false);
    CHECK(written == IoStatus::ok);
    co_await dialled.take("ask");
    const std::string asked = co_await read_some(*dialled.runtime[2], 3);
    CHECK(asked == "ask");
  });
}

TEST_CASE("only a few connections wait, the youngest") {
  run([](Dialled& dialled) -> Task<void> {
    for (int i = 0; i < 10; ++i) dialled.dial();
    for (int i = 0; i < 6; ++i) {
      const std::string rest = co_await read_all(*dialled.runtime[static_cast<std::size_t>(i)]);
      CHECK(rest.empty());
    }
    co_await dialled.take("ask");
    const std::string asked = co_await read_some(*dialled.runtime[6], 3);
    CHECK(asked == "ask");
  });
}

TEST_CASE("the end of a runtime fails those who wait and those who come") {
  run([](Dialled& dialled) -> Task<void> {
    transport::TaskSet tasks(dialled.loop);
    for (int i = 0; i < 2; ++i) tasks.spawn(dialled.take("ask"));
    dialled.line->close();
    tasks.spawn(dialled.take("ask"));
    co_await tasks.idle();
    REQUIRE(dialled.taken.size() == 3);
    for (const auto& taken : dialled.taken) {
      REQUIRE_FALSE(taken.has_value());
      CHECK(taken.error().message() == "cannot reach orders: it has ended");
    }
    dialled.dial();
    CHECK_FALSE(dialled.line->alive());
  });
}

TEST_CASE("whoever gives up waiting gives up its place") {
  run([](Dialled& dialled) -> Task<void> {
    Task<void> first = dialled.take("one");
    first.start();
    transport::TaskSet tasks(dialled.loop);
    tasks.spawn(dialled.take("two"));
    first.reset();
    dialled.dial();
    co_await tasks.idle();
    const std::string said = co_await read_some(*dialled.runtime[0], 3);
    CHECK(said == "two");
  });
}

TEST_CASE("a line is alive while a connection waits or is in somebody's hands") {
  run([](Dialled& dialled) -> Task<void> {
    CHECK_FALSE(dialled.line->alive());
    dialled.dial();
    CHECK(dialled.line->alive());
    co_await dialled.take("ask");
    CHECK(dialled.line->alive());
    dialled.taken.clear();
    CHECK_FALSE(dialled.line->alive());
    dialled.dial();
    dialled.runtime.clear();
    CHECK_FALSE(dialled.line->alive());
  });
}
