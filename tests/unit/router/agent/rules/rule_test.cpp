#include "router/agent/rules/rule.hpp"

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using farport::events::Measurement;
using farport::router::CounterCondition;
using farport::router::Lasting;
using farport::router::Repeated;
using farport::router::Runtime;
using farport::router::subject_of;

namespace {

Measurement measurement(Measurement::Kind kind, double value, std::string tags = "") {
  Measurement made;
  made.provider = "Orders";
  made.name = "queue";
  made.kind = kind;
  made.value = value;
  made.labels = farport::events::TagReader('=').read(tags);
  made.tags = std::move(tags);
  return made;
}

CounterCondition condition() {
  return {"Orders", "queue", false, {}, {}, 100, {}};
}

}  // namespace

TEST_CASE("a condition is about its counter and tags", "[rules]") {
  CounterCondition wanted = condition();
  Measurement seen = measurement(Measurement::Kind::gauge, 1, "route=/a,status=200");
  CHECK(wanted.is_about(seen));
  wanted.tags = {{"status", "200"}};
  CHECK(wanted.is_about(seen));
  wanted.tags = {{"status", "200"}, {"route", "/"}};
  CHECK(!wanted.is_about(seen));
  wanted.tags = {{"method", "GET"}};
  CHECK(!wanted.is_about(seen));
  wanted.tags.clear();
  seen.name = "queue2";
  CHECK(!wanted.is_about(seen));
}

TEST_CASE("what grows is compared by its growth a second", "[rules]") {
  const CounterCondition wanted = condition();
  CHECK(wanted.value_of(measurement(Measurement::Kind::gauge, 300), 5s) == 300.0);
  CHECK(wanted.value_of(measurement(Measurement::Kind::up_down, 300), 5s) == 300.0);
  CHECK(wanted.value_of(measurement(Measurement::Kind::rate, 300), 5s) == 60.0);
  Measurement of_event_counter = measurement(Measurement::Kind::rate, 300);
  of_event_counter.interval = 10;
  CHECK(wanted.value_of(of_event_counter, 5s) == 30.0);
  CHECK(wanted.value_of(measurement(Measurement::Kind::histogram, 300), 5s) == 60.0);
}

TEST_CASE("what is no number is no value", "[rules]") {
  Measurement seen = measurement(Measurement::Kind::rate, 1e300);
  seen.interval = 1e-300;
  CHECK(!condition().value_of(seen, 1s));
}

TEST_CASE("so many within a time", "[rules]") {
  Repeated repeated;
  const Repeated::Clock::time_point begin{1000s};
  CHECK(!repeated.note(1, begin, 3, 10s));
  CHECK(!repeated.note(1, begin + 5s, 3, 10s));
  CHECK(!repeated.note(1, begin + 11s, 3, 10s));
  CHECK(repeated.count(begin + 11s, 10s) == 2);
  CHECK(repeated.note(1, begin + 12s, 3, 10s));
  repeated.begin_anew();
  CHECK(!repeated.note(2, begin + 12s, 3, 10s));
  CHECK(repeated.note(1'000'000'000, begin + 12s, 3, 10s));
}

TEST_CASE("a percentile is compared where there is one", "[rules]") {
  CounterCondition wanted = condition();
  wanted.quantile = 0.95;
  Measurement seen = measurement(Measurement::Kind::histogram, 300);
  CHECK(!wanted.value_of(seen, 1s));
  seen.quantiles = {{0.5, 1}, {0.95, 7}, {0.99, 9}};
  CHECK(wanted.value_of(seen, 1s) == 7.0);
}

TEST_CASE("a bound is not beyond itself", "[rules]") {
  CounterCondition wanted = condition();
  CHECK(!wanted.holds(100));
  CHECK(wanted.holds(100.5));
  wanted.below = 200;
  CHECK(wanted.holds(199));
  CHECK(!wanted.holds(200));
  wanted.above.reset();
  CHECK(wanted.holds(99.5));
}

TEST_CASE("something must have been so for the whole time", "[rules]") {
  Lasting lasting;
  const Lasting::Clock::time_point begin{1000s};
  const Lasting::Times times{10s, 15s};
  CHECK(!lasting.note(true, begin, times));
  CHECK(!lasting.note(true, begin + 9s, times));
  SECTION("it was") {
    CHECK(lasting.note(true, begin + 10s, times));
  }
  SECTION("but for once") {
    CHECK(!lasting.note(false, begin + 10s, times));
    CHECK(!lasting.note(true, begin + 11s, times));
    CHECK(!lasting.note(true, begin + 20s, times));
    CHECK(lasting.note(true, begin + 21s, times));
  }
  SECTION("nobody knows, for it was not noted") {
    CHECK(!lasting.note(true, begin + 60s, times));
    CHECK(lasting.note(true, begin + 70s, times));
  }
  SECTION("and anew") {
    lasting.begin_anew();
    CHECK(!lasting.note(true, begin + 10s, times));
  }
  SECTION("no time is once") {
    CHECK(Lasting().note(true, begin, {0s, 15s}));
  }
}

TEST_CASE("limits are of a user's container", "[rules]") {
  Runtime runtime;
  runtime.name = "orders";
  runtime.user = 1654;
  CHECK(subject_of(runtime) == "1654:orders");
  runtime.container = {"15ee01b0", "web", "orders-7d4b9"};
  const std::string in_container = subject_of(runtime);
  runtime.user = 0;
  CHECK(subject_of(runtime) != in_container);
  runtime.user = 1654;
  runtime.name = "other";
  runtime.container.pod = "other";
  CHECK(subject_of(runtime) == in_container);
}
