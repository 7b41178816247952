#include <catch2/catch.hpp>

#include "router/mirror/agent_session.hpp"
#include "router/wire/http_status.hpp"

using namespace farport::router;
using namespace farport::transport;
using namespace std::chrono_literals;

namespace {

/// A clock that stands still until it is told to go on.
RequestPace::Clock::time_point& test_time() {
  static RequestPace::Clock::time_point now = RequestPace::Clock::time_point(1h);
  return now;
}

MessageHead head_with_rate(const std::string& rate) {
  MessageHead head;
  head.status = 200;
  head.fields.emplace_back(pace_field::kRate, rate);
  return head;
}

MessageHead refusal(int status, const std::string& pause) {
  MessageHead head;
  head.status = status;
  head.fields.emplace_back(pace_field::kRetryAfterMs, pause);
  return head;
}

struct Paced {
  Loop loop;
  Event came{loop};
  RequestPace pace{loop, [] { return test_time(); }};

  /// How many of so many requests may be sent now.
  int sent(int of) {
    int count = 0;
    for (int i = 0; i < of; ++i) {
      RequestPace::Turn turn(pace, came);
      if (turn.is_now()) ++count;
    }
    return count;
  }
};

}  // namespace

TEST_CASE("an agent's pause is taken from a 429 alone, and within bounds", "[router]") {
  CHECK(pause_told(refusal(429, "40")) == 40ms);
  CHECK(pause_told(refusal(429, "0")) == 1ms);
  CHECK(pause_told(refusal(429, "-5")) == 1ms);
  CHECK(pause_told(refusal(429, "99999999999")) == 10s);
  CHECK_FALSE(pause_told(refusal(429, "")));
  CHECK_FALSE(pause_told(refusal(429, "soon")));
  CHECK_FALSE(pause_told(refusal(429, "99999999999999999999999")));
  CHECK_FALSE(pause_told(refusal(503, "40")));
}

TEST_CASE("without a rate there is no pace, with one a second's worth may go at once", "[router]") {
  Paced paced;
  CHECK(paced.sent(5000) == 5000);
  // The question that told it was one of them.
  paced.pace.learn(head_with_rate("100"), true);
  CHECK(paced.sent(200) == 99);
  test_time() += 500ms;
  CHECK(paced.sent(200) == 50);
  test_time() += 1h;
  CHECK(paced.sent(200) == 100);
  // The same agent again has not forgotten what it was asked.
  paced.pace.learn(head_with_rate("100"), false);
  CHECK(paced.sent(200) == 0);
  paced.pace.learn(head_with_rate("nonsense"), false);
  CHECK(paced.sent(5000) == 5000);
}

TEST_CASE("a pace falls with each refusal, and rises again", "[router]") {
  Paced paced;
  paced.pace.learn(head_with_rate("1000"), true);
  CHECK(paced.sent(999) == 999);
  RequestPace::Turn turn(paced.pace, paced.came);
  turn.refused(20ms);
  turn.refused(20ms);
  test_time() += 19ms;
  CHECK(paced.sent(10) == 0);
  // Two at once are one refusal.
  test_time() += 101ms;
  CHECK(paced.sent(1000) == Approx(80).margin(1));
  for (int i = 0; i < 10; ++i) {
    test_time() += 100ms;
    std::ignore = paced.sent(1000);
  }
  test_time() += 100ms;
  CHECK(paced.sent(1000) == Approx(100).margin(1));
}

TEST_CASE("those who wait get their turns in the order in which they came", "[router]") {
  Paced paced;
  paced.pace.learn(head_with_rate("10"), true);
  RequestPace::Turn first(paced.pace, paced.came);
  RequestPace::Turn second(paced.pace, paced.came);
  CHECK(paced.sent(9) == 9);
  CHECK_FALSE(second.is_now());
  second.line_up();
  CHECK_FALSE(first.is_now());
  first.line_up();
  test_time() += 100ms;
  // One turn has come: the second must leave it to the first, and a third to both.
  CHECK(paced.sent(1) == 0);
  CHECK_FALSE(second.is_now());
  CHECK(first.is_now());
  test_time() += 100ms;
  CHECK(second.is_now());
  // Sending again takes another turn.
  second.sent();
  CHECK_FALSE(second.is_now());
}
