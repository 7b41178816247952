#include "router/agent/runtimes/meter_claims.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/unit/router/agent/runtimes/closed_port.hpp"
#include "transport/race.hpp"
#include "transport/task_set.hpp"
#include "transport/timer.hpp"

using namespace farport;
using namespace farport::router;
using namespace std::chrono_literals;

namespace {

struct Agent {
  explicit Agent(const std::optional<CounterLimits>& own = std::nullopt) : claims(loop, registry, own) {
    list("1");
  }
  void list(const std::string& id) {
    Runtime runtime;
    runtime.id = id;
    entries.push_back(*registry.add(std::move(runtime), port, true));
  }

  /// The end of a session is asked for: whether the runtime may be told at once.
  bool stops_at_once(std::uint64_t session) {
    bool passed = false;
    work.spawn(stop(session, passed));
    loop.run(turn());
    return passed;
  }
  transport::Task<void> stop(std::uint64_t session, bool& passed) {
    co_await claims.until_stoppable("1", {session});
    passed = true;
  }
  transport::Task<void> turn() { co_await transport::next_turn(loop); }

  transport::Task<void> give_up(std::uint64_t session) {
    co_await transport::with_deadline(loop, claims.until_stoppable("1", {session}),
                                      transport::Milliseconds(10));
  }
  bool claims_at_once(MeterReading reading) {
    bool passed = false;
    work.spawn(claim(std::move(reading), passed));
    loop.run(turn());
    return passed;
  }
  transport::Task<void> claim(MeterReading reading, bool& passed) {
    const auto place = co_await claims.claim("1", std::move(reading));
    passed = true;
  }

  transport::Loop loop;
  Registry registry{loop};
  ClosedPort port;
  std::vector<std::unique_ptr<Registry::Entry>> entries;
  MeterClaims claims;
  transport::TaskSet work{loop};
};

using Clock = MeterClaims::Clock;

}  // namespace

TEST_CASE("a session is stopped at once before the first collection is due, and is held up then",
          "[router]") {
  Agent agent;
  agent.claims.began("1", {7}, {"SHARED", 3600s}, Clock::now());
  CHECK(agent.stops_at_once(7));
  agent.claims.began("1", {8}, {"SHARED", 0.1s}, Clock::now() - 1s);
  CHECK_FALSE(agent.stops_at_once(8));
  CHECK(agent.stops_at_once(9));  // It reads no meters.
}

TEST_CASE("what began first collects first, whatever the runtime refuses beside it", "[router]") {
  Agent agent;
  agent.claims.began("1", {7}, {"mine", 0.1s}, Clock::now() - 1s);
  agent.claims.began("1", {8}, {"SHARED", 3600s}, Clock::now());
  CHECK_FALSE(agent.stops_at_once(8));
  agent.claims.began("1", {9}, {"mine", 0.1s}, Clock::now());
  CHECK_FALSE(agent.stops_at_once(9));
}

TEST_CASE("a session that is refused does not stand for the first collection of another", "[router]") {
  Agent agent;
  agent.claims.began("1", {7}, {"mine", 3600s}, Clock::now());
  agent.claims.began("1", {8}, {"SHARED", 0.1s}, Clock::now() - 10s);
  CHECK(agent.stops_at_once(8));
  CHECK(agent.stops_at_once(7));
  agent.claims.began("1", {9}, {"SHARED", 0.1s}, Clock::now() - 10s);
  CHECK_FALSE(agent.stops_at_once(9));
}

TEST_CASE("an end that is given up is waited for no more", "[router]") {
  Agent agent;
  agent.claims.began("1", {7}, {"SHARED", 0.1s}, Clock::now() - 1s);
  agent.loop.run(agent.give_up(7));
  CHECK(agent.claims_at_once({"other", 1s}));
  CHECK_FALSE(agent.stops_at_once(7));
}

TEST_CASE("a runtime that has collected has its sessions stopped at once", "[router]") {
  Agent agent;
  agent.claims.began("1", {7}, {"SHARED", 0.1s}, Clock::now() - 1s);
  agent.loop.run(agent.claims.until_stoppable("1", {7}));
  agent.claims.began("1", {8}, {"SHARED", 0.1s}, Clock::now() - 1s);
  CHECK(agent.stops_at_once(8));
}

TEST_CASE("a session that is to end is waited for by those that it excludes, not by others", "[router]") {
  Agent agent;
  agent.claims.began("1", {7}, {"SHARED", 0.1s}, Clock::now() - 1s);
  CHECK(agent.claims_at_once({"other", 1s}));
  CHECK_FALSE(agent.stops_at_once(7));
  CHECK(agent.claims_at_once({"SHARED", 0.1s}));
  CHECK_FALSE(agent.claims_at_once({"other", 1s}));
  CHECK_FALSE(agent.stops_at_once(7));
}

TEST_CASE("the agent's own session gives way to one that it excludes", "[router]") {
  const CounterLimits own;
  Agent agent(own);
  auto held = agent.loop.run(agent.claims.hold("1"));
  CHECK(agent.claims_at_once({meter_agreement(own), 1s}));
  CHECK_FALSE(agent.claims_at_once({"other", 1s}));
  agent.loop.run(agent.claims.claimed("1"));
}

TEST_CASE("nothing is kept of runtimes that have gone", "[router]") {
  Agent agent;
  for (int n = 2; n < 10; ++n) agent.claims.began(std::to_string(n), {7}, {"SHARED", 1s}, Clock::now());
  CHECK(agent.claims.size() == 1);
  agent.claims.began("1", {7}, {"SHARED", 1s}, Clock::now());
  CHECK(agent.claims.size() == 1);
  for (int n = 2; n < 10; ++n) agent.loop.run(agent.claims.hold(std::to_string(n)));
  CHECK(agent.claims.size() <= 2);
}
