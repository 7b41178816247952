#include "router/agent/runtimes/registry.hpp"

#include <latch>
#include <thread>

#include <pthread.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/unit/router/agent/runtimes/closed_port.hpp"

using namespace farport;
using namespace farport::router;

namespace {

Runtime runtime(const std::string& id, const std::string& name) {
  Runtime runtime;
  runtime.id = id;
  runtime.name = name;
  return runtime;
}

std::string told(transport::Loop& loop, Registry::Watch& watch) {
  const auto event = loop.run(watch.next());
  return event ? std::string(to_string(event->kind)) + " " + event->runtime.name : "closed";
}

}  // namespace

TEST_CASE("a process that says another pid of itself has no host's pid for that", "[router]") {
  transport::Loop loop;
  Registry registry(loop);
  ClosedPort port;
  Runtime lying = runtime("1", "one");
  lying.pid = 4711;
  const auto entry = registry.add(lying, port, true);
  CHECK(registry.find("1")->host_pid == 0);
}

TEST_CASE("a watch tells of what is there, then of changes", "[router]") {
  transport::Loop loop;
  Registry registry(loop);
  ClosedPort port;
  auto first = registry.add(runtime("1", "one"), port, true);
  const auto watch = registry.watch();
  CHECK(told(loop, *watch) == "added one");
  CHECK(told(loop, *watch) == "listed ");
  auto second = registry.add(runtime("2", "two"), port, true);
  CHECK(told(loop, *watch) == "added two");
  second->reset();
  CHECK(told(loop, *watch) == "removed two");
}

TEST_CASE("a watch that nobody reads keeps no events, and tells of the present state in the end",
          "[router]") {
  transport::Loop loop;
  Registry registry(loop);
  ClosedPort port;
  const auto watch = registry.watch();
  CHECK(told(loop, *watch) == "listed ");
  for (int i = 0; i < 1000; ++i) {
    const auto gone = registry.add(runtime(std::to_string(i), "one"), port, true);
  }
  CHECK(watch->kept_bytes() < 1000);
  const auto stays = registry.add(runtime("2", "two"), port, true);
  CHECK(told(loop, *watch) == "added two");
  watch->close();
  CHECK(told(loop, *watch) == "closed");
}

TEST_CASE("a list goes from one runtime to the next, and shares what is said of each", "[router]") {
  transport::Loop loop;
  Registry registry(loop);
  ClosedPort port;
  const auto first = registry.add(runtime("1", "one"), port, true);
  const auto hidden = registry.add(runtime("2", "two"), port, true);
  auto third = registry.add(runtime("3", "three"), port, true);
  const Registry::Filter seen = [](const Runtime& each) { return each.name != "two"; };
  const auto one = registry.next_after("", seen);
  REQUIRE(one);
  CHECK(one->runtime->name == "one");
  CHECK(registry.next_after("", seen)->text == one->text);
  CHECK(registry.next_after("1", seen)->runtime->name == "three");
  CHECK_FALSE(registry.next_after("3", seen));
  third->reset();
  CHECK_FALSE(registry.next_after("1", seen));
  registry.set_halt("1", Halt::stopped);
  const auto changed = registry.next_after("", seen);
  CHECK(changed->text != one->text);
  CHECK(changed->text->find("stopped") != std::string::npos);
}

TEST_CASE("a watch tells only of what its filter lets count", "[router]") {
  transport::Loop loop;
  Registry registry(loop);
  ClosedPort port;
  auto hidden = registry.add(runtime("1", "one"), port, true);
  auto seen = registry.add(runtime("2", "two"), port, true);
  const auto watch = registry.watch([](const Runtime& each) { return each.name == "two"; });
  CHECK(told(loop, *watch) == "added two");
  CHECK(told(loop, *watch) == "listed ");
  hidden->reset();
  seen->reset();
  CHECK(told(loop, *watch) == "removed two");
}

TEST_CASE("a program that was compiled ahead of time is told by its threads") {
  CHECK(farport::router::is_native_program(::getpid(), "/app/orders"));
  CHECK_FALSE(farport::router::is_native_program(::getpid(), "/app/orders /app/orders.dll"));
  CHECK_FALSE(farport::router::is_native_program(0, "/app/orders"));
  // CoreCLR has such a thread.
  std::latch named(1);
  std::latch seen(1);
  std::jthread thread([&] {
    ::pthread_setname_np(::pthread_self(), ".NET SynchManag");
    named.count_down();
    seen.wait();
  });
  named.wait();
  CHECK_FALSE(farport::router::is_native_program(::getpid(), "/app/orders"));
  seen.count_down();
}
