// Who gets which connection of a runtime in connect mode.
#include <catch2/catch.hpp>

#include "router/agent/runtimes/connect_port.hpp"
#include "tests/unit/streams.hpp"

using namespace farport;
using namespace farport::test;
using router::ConnectionQueue;
using router::DiagnosticPort;

namespace {

/// A queue, and the runtime's ends of its connections.
struct TestedQueue {
  explicit TestedQueue(Loop& on) : loop(on), queue(std::make_shared<ConnectionQueue>(on, "orders")) {}

  void dial() {
    auto [ours, theirs] = make_pair(loop);
    queue->add(std::move(ours));
    runtime.push_back(std::move(theirs));
  }
  /// Takes a connection and writes `text` on it; the connection, or what was said instead, stays in `taken`.
  Task<void> take(std::string text) {
    auto connection = co_await ConnectionQueue::take(queue);
    if (connection) {
      const IoStatus written = co_await write_all(**connection, std::move(text), false);
      CHECK(written == IoStatus::ok);
    }
    taken.push_back(std::move(connection));
  }

  Loop& loop;
  std::shared_ptr<ConnectionQueue> queue;
  std::vector<std::unique_ptr<FdStream>> runtime;
  std::vector<DiagnosticPort::Connection> taken;
};

void run(Task<void> (*scenario)(TestedQueue&)) {
  Loop loop;
  TestedQueue tested(loop);
  loop.run(scenario(tested));
}

}  // namespace

TEST_CASE("commands that wait are served in the order of their coming") {
  run([](TestedQueue& tested) -> Task<void> {
    transport::TaskSet tasks(tested.loop);
    for (const char* text : {"one", "two", "six"}) tasks.spawn(tested.take(text));
    for (int i = 0; i < 3; ++i) tested.dial();
    co_await tasks.idle();
    std::string said;
    for (const auto& end : tested.runtime) said += co_await read_some(*end, 3);
    CHECK(said == "onetwosix");
  });
}

TEST_CASE("a connection that has closed or speaks out of turn is not given to anybody") {
  run([](TestedQueue& tested) -> Task<void> {
    for (int i = 0; i < 3; ++i) tested.dial();
    tested.runtime[0].reset();
    const IoStatus written = co_await write_all(*tested.runtime[1], "loud", false);
    CHECK(written == IoStatus::ok);
    co_await tested.take("ask");
    const std::string asked = co_await read_some(*tested.runtime[2], 3);
    CHECK(asked == "ask");
  });
}

TEST_CASE("only a few connections wait, the youngest") {
  run([](TestedQueue& tested) -> Task<void> {
    for (int i = 0; i < 10; ++i) tested.dial();
    for (int i = 0; i < 6; ++i) {
      const std::string rest = co_await read_all(*tested.runtime[static_cast<std::size_t>(i)]);
      CHECK(rest.empty());
    }
    co_await tested.take("ask");
    const std::string asked = co_await read_some(*tested.runtime[6], 3);
    CHECK(asked == "ask");
  });
}

TEST_CASE("the end of a runtime fails those who wait and those who come") {
  run([](TestedQueue& tested) -> Task<void> {
    transport::TaskSet tasks(tested.loop);
    for (int i = 0; i < 2; ++i) tasks.spawn(tested.take("ask"));
    tested.queue->close();
    tasks.spawn(tested.take("ask"));
    co_await tasks.idle();
    REQUIRE(tested.taken.size() == 3);
    for (const auto& taken : tested.taken) {
      REQUIRE_FALSE(taken.has_value());
      CHECK(taken.error().message() == "cannot reach orders: it has ended");
    }
    tested.dial();
    CHECK_FALSE(tested.queue->alive());
  });
}

TEST_CASE("whoever gives up waiting gives up its place") {
  run([](TestedQueue& tested) -> Task<void> {
    Task<void> first = tested.take("one");
    first.start();
    transport::TaskSet tasks(tested.loop);
    tasks.spawn(tested.take("two"));
    first.reset();
    tested.dial();
    co_await tasks.idle();
    const std::string said = co_await read_some(*tested.runtime[0], 3);
    CHECK(said == "two");
  });
}

TEST_CASE("a queue is alive while a connection waits or is in use") {
  run([](TestedQueue& tested) -> Task<void> {
    CHECK_FALSE(tested.queue->alive());
    tested.dial();
    CHECK(tested.queue->alive());
    co_await tested.take("ask");
    CHECK(tested.queue->alive());
    tested.taken.clear();
    CHECK_FALSE(tested.queue->alive());
    tested.dial();
    tested.runtime.clear();
    CHECK_FALSE(tested.queue->alive());
  });
}
