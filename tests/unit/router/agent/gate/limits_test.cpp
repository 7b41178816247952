#include "router/agent/gate/limits.hpp"

#include <catch2/catch.hpp>

using namespace farport::router;
using namespace std::chrono_literals;

namespace {

/// A clock that stands still until it is told to go on.
TokenBucket::Clock::time_point& test_time() {
  static TokenBucket::Clock::time_point now;
  return now;
}

farport::auth::LimitSettings small_limits() {
  farport::auth::LimitSettings limits;
  limits.sessions = 3;
  limits.sessions_per_identity = 2;
  limits.connections_per_session = 2;
  limits.connections_per_identity = 3;
  limits.requests_per_second = 2;
  return limits;
}

std::string limit_of(const std::optional<LimitExceeded>& exceeded) {
  return exceeded ? std::string(exceeded->limit->name()) : "none";
}

Caller caller_named(const std::string& common_name, std::vector<std::string> uris) {
  Caller caller;
  caller.identity.emplace().common_name = common_name;
  caller.identity->uris = std::move(uris);
  return caller;
}

}  // namespace

TEST_CASE("a token bucket gives a second's worth at once, and then as many as come in", "[router]") {
  const TokenBucket::Clock::time_point start;
  TokenBucket bucket(10, start);
  for (int i = 0; i < 10; ++i) CHECK(bucket.take(start));
  CHECK_FALSE(bucket.take(start));
  CHECK_FALSE(bucket.take(start + 99ms));
  CHECK(bucket.take(start + 200ms));
  CHECK_FALSE(bucket.full(start + 1s));
  CHECK(bucket.full(start + 2s));
  // What nobody takes doesn't pile up.
  int taken = 0;
  while (bucket.take(start + 1h)) ++taken;
  CHECK(taken == 10);
}

TEST_CASE("one identity's sessions are counted, and all together", "[router]") {
  farport::transport::Loop loop;
  Limits limits(loop, small_limits());
  auto first = limits.begin_session("alice");
  auto second = limits.begin_session("alice");
  REQUIRE(first);
  REQUIRE(second);
  const auto third = limits.begin_session("alice");
  REQUIRE_FALSE(third);
  CHECK(third.error().limit->name() == "sessions_per_identity");
  CHECK(refusal_of(third.error()).status == 429);
  const auto other = limits.begin_session("bob");
  REQUIRE(other);
  CHECK(limits.sessions() == 3);
  const auto full = limits.begin_session("carol");
  REQUIRE_FALSE(full);
  CHECK(full.error().limit->name() == "sessions");
  CHECK(refusal_of(full.error()).status == 503);
  CHECK(refusal_of(full.error()).retry_after > 0);
  CHECK(refusal_of(full.error()).why.find("limits.sessions in the agent's configuration") !=
        std::string::npos);
  second->reset();
  CHECK(limits.begin_session("carol"));
  CHECK(limits.sessions() == 2);
}

TEST_CASE("diagnostic connections are counted for their session and for their identity", "[router]") {
  farport::transport::Loop loop;
  Limits limits(loop, small_limits());
  auto one = limits.begin_session("alice").value();
  auto two = limits.begin_session("alice").value();
  const auto other = limits.begin_session("bob").value();
  auto first = one->begin_connection();
  auto second = one->begin_connection();
  REQUIRE(second);
  const auto of_session = one->begin_connection();
  REQUIRE_FALSE(of_session);
  CHECK(of_session.error().limit->name() == "connections_per_session");
  const auto third = two->begin_connection();
  REQUIRE(third);
  const auto of_identity = two->begin_connection();
  REQUIRE_FALSE(of_identity);
  CHECK(of_identity.error().limit->name() == "connections_per_identity");
  CHECK(other->begin_connection());
  CHECK(limits.connections() == 3);

  // A connection may outlive its session.
  one.reset();
  CHECK(limits.connections() == 3);
  first->of_identity = CountedSlot();
  CHECK(two->begin_connection());
}

TEST_CASE("requests are counted for their identity, also over sessions that follow each other", "[router]") {
  test_time() = {};
  farport::transport::Loop loop;
  Limits limits(loop, small_limits(), [] { return test_time(); });
  for (int i = 0; i < 2; ++i)
    CHECK(limit_of(limits.begin_session("alice").value()->count_request()) == "none");
  CHECK(limit_of(limits.begin_session("alice").value()->count_request()) == "requests_per_second");
  CHECK(limit_of(limits.begin_session("bob").value()->count_request()) == "none");
  test_time() += 500ms;
  CHECK(limit_of(limits.begin_session("alice").value()->count_request()) == "none");
}

TEST_CASE("limits are shared by those whose certificates hold the same names", "[router]") {
  CHECK(identity_key(caller_named("alice", {})) == identity_key(caller_named("alice", {})));
  CHECK(identity_key(caller_named("alice", {})) != identity_key(caller_named("bob", {})));
  CHECK(identity_key(caller_named("alice", {"spiffe://a"})) !=
        identity_key(caller_named("alice", {"spiffe://b"})));
  Caller nameless = caller_named("", {});
  nameless.identity->serial = "5f";
  CHECK(identity_key(nameless) == "serial 5f");
  CHECK(identity_key(Caller{}).empty());
}

TEST_CASE("an identity that has been refused too often rests", "[router]") {
  farport::transport::Loop loop;
  Limits limits(loop, small_limits(), [] { return test_time(); });
  const auto session = limits.begin_session("alice");
  REQUIRE(session);
  for (int i = 0; i < 4; ++i) std::ignore = (*session)->count_request();
  CHECK_FALSE((*session)->share()->used_up());
  CHECK(limit_of((*session)->count_request()) == "requests_per_second");
  CHECK((*session)->share()->used_up());
}

TEST_CASE("an identity has half of the places, and the agent as many of its own", "[router]") {
  Places places(4, "takes", "profile");
  const Caller alice = caller_named("alice", {});
  const Caller bob = caller_named("bob", {});
  std::vector<Places::Place> held;
  for (const Caller* each : {&alice, &alice, &bob, &bob}) {
    auto place = places.take(*each, 1000);
    REQUIRE(place);
    held.push_back(std::move(*place));
    const auto more = places.take(alice, 1000);
    CHECK(more.has_value() == (held.size() < 2));
  }
  CHECK(places.take(alice, 1000).error() == "the agent takes 4 profiles already");
  // What callers have taken is none of the agent's own work.
  Caller own = caller_named("", {});
  own.acting_for = "the rule heap";
  CHECK(places.take(own, 1000));
  held.clear();
  CHECK(places.take(alice, 1000));
}

TEST_CASE("the runtimes of one user don't hold all places for the agent's own work", "[router]") {
  Places places(4, "keeps", "artifact");
  std::vector<Places::Place> held;
  const auto take = [&](const std::string& rule, uid_t user) {
    Caller own = caller_named("", {});
    own.acting_for = rule;
    auto place = places.take(own, user);
    if (place) held.push_back(std::move(*place));
    return place.has_value();
  };
  CHECK(take("a", 1001));
  CHECK(take("b", 1001));
  CHECK(take("b", 1001));
  CHECK(!take("c", 1001));
  CHECK(take("b", 1002));
  CHECK(!take("c", 1003));
  held.clear();
  CHECK(take("a", 1001));
}
