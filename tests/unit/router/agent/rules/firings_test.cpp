#include "router/agent/rules/firings.hpp"

#include <fstream>

#include <catch2/catch.hpp>

#include "tests/unit/auth/fixtures.hpp"

using namespace std::chrono_literals;
using farport::auth::test::TemporaryDirectory;
using farport::router::Firing;
using farport::router::FiringJournal;
using farport::router::Firings;
using farport::router::Rule;

namespace {

using Clock = Firing::Clock;

constexpr uid_t kUser = 1000;
constexpr uid_t kOther = 1001;

Rule rule_with(std::size_t times, std::chrono::milliseconds within = 1h) {
  Rule rule;
  rule.name = "heap";
  rule.limits.times = times;
  rule.limits.within = within;
  return rule;
}

Firing firing(std::string subject, Clock::time_point time, Firing::State state = Firing::State::done,
              uid_t user = kUser) {
  Firing made;
  made.user = user;
  made.rule = "heap";
  made.subject = std::move(subject);
  made.runtime_id = "id";
  made.time = time;
  made.state = state;
  return made;
}

std::vector<Firing> read_all(const std::string& directory) {
  std::vector<Firing> found;
  REQUIRE(FiringJournal::open(directory, "web-1", {}, found));
  return found;
}

}  // namespace

TEST_CASE("a rule fires so often within its time", "[rules]") {
  const auto now = Clock::now();
  Firings firings({});
  const Rule rule = rule_with(2);
  CHECK(!firings.limited(rule, "a", kUser, now));
  firings.begin(firing("a", now - 50min));
  CHECK(!firings.limited(rule, "a", kUser, now));
  firings.begin(firing("a", now - 10min));
  const auto limited = firings.limited(rule, "a", kUser, now);
  REQUIRE(limited);
  CHECK(limited->until == now + 10min);
  CHECK(!firings.limited(rule, "b", kUser, now));
  CHECK(!firings.limited(rule, "a", kUser, now + 10min));
  Rule other = rule_with(1);
  other.name = "other";
  CHECK(!firings.limited(other, "a", kUser, now));
}

TEST_CASE("a rule takes for one at a time", "[rules]") {
  const auto now = Clock::now();
  Firings firings({});
  const std::uint64_t number = firings.begin(firing("a", now, Firing::State::under_way)).number;
  const auto limited = firings.limited(rule_with(5), "b", kUser, now);
  REQUIRE(limited);
  CHECK(!limited->until);
  CHECK(limited->why.find("another") != std::string::npos);
  SECTION("or for so many") {
    Rule rule = rule_with(5);
    rule.limits.at_once = 2;
    CHECK(!firings.limited(rule, "b", kUser, now));
    CHECK(firings.limited(rule, "a", kUser, now)->why == "something is being taken");
    rule.limits.total = 1;
    CHECK(firings.limited(rule, "b", kUser, now)->why.find("for all applications") != std::string::npos);
  }
  SECTION("until that has ended") {
    firings.find(number)->state = Firing::State::failed;
    CHECK(!firings.limited(rule_with(5), "b", kUser, now));
  }
  SECTION("or could not begin") {
    firings.take_back(number);
    CHECK(!firings.limited(rule_with(1), "a", kUser, now));
  }
}

TEST_CASE("all applications together have a limit", "[rules]") {
  const auto now = Clock::now();
  Firings firings({});
  Rule rule = rule_with(1);
  rule.limits.total = 3;
  for (const char* subject : {"a", "b", "c"}) firings.begin(firing(subject, now));
  CHECK(firings.limited(rule, "d", kUser, now)->why.find("all applications") != std::string::npos);
}

TEST_CASE("a user who has used up what all have leaves others their part", "[rules]") {
  const auto now = Clock::now();
  Firings firings({});
  Rule rule = rule_with(5);
  rule.limits.total = 4;
  rule.limits.bytes = 1000;
  for (const char* subject : {"a", "b", "c", "d"}) firings.begin(firing(subject, now)).bytes = 500;
  CHECK(firings.limited(rule, "e", kUser, now)->until == now + 1h);
  CHECK(!firings.limited(rule, "e", kOther, now));
  SECTION("which is equal") {
    firings.begin(firing("e", now, Firing::State::done, kOther)).bytes = 400;
    CHECK(!firings.limited(rule, "e", kOther, now));
    SECTION("in number") {
      firings.begin(firing("e", now, Firing::State::done, kOther)).bytes = 1;
      CHECK(firings.limited(rule, "e", kOther, now)->until == now + 1h);
    }
    SECTION("and in bytes") {
      rule.limits.total = 100;
      firings.begin(firing("e", now, Firing::State::done, kOther)).bytes = 100;
      CHECK(firings.limited(rule, "e", kOther, now)->why.find("1000 bytes") != std::string::npos);
    }
  }
  CHECK(firings.limited(rule, "e", kUser, now));
}

TEST_CASE("what hangs at one user's runtime holds up no other user's", "[rules]") {
  const auto now = Clock::now();
  Firings firings({});
  firings.begin(firing("a", now, Firing::State::under_way));
  CHECK(firings.limited(rule_with(5), "b", kUser, now));
  CHECK(!firings.limited(rule_with(5), "b", kOther, now));
  firings.begin(firing("b", now, Firing::State::under_way, kOther));
  CHECK(firings.limited(rule_with(5), "c", kOther, now));
}

TEST_CASE("what a rule takes has a limit", "[rules]") {
  const auto now = Clock::now();
  Firings firings({});
  Rule rule = rule_with(5);
  rule.limits.bytes = 1000;
  firings.begin(firing("a", now)).bytes = 999;
  CHECK(!firings.limited(rule, "a", kUser, now));
  firings.begin(firing("a", now)).bytes = 1;
  CHECK(firings.limited(rule, "a", kUser, now)->until == now + 1h);
}

TEST_CASE("a rule has hours", "[rules]") {
  const Firings firings({});
  Rule rule = rule_with(1);
  const std::time_t seconds = Clock::to_time_t(Clock::now());
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  const int minute = parts.tm_hour * 60 + parts.tm_min;
  rule.limits.hours = {(minute + 1439) % 1440, (minute + 2) % 1440};
  CHECK(!firings.limited(rule, "a", kUser, Clock::from_time_t(seconds)));
  rule.limits.hours = {(minute + 5) % 1440, (minute + 10) % 1440};
  const auto limited = firings.limited(rule, "a", kUser, Clock::from_time_t(seconds));
  REQUIRE(limited);
  CHECK(limited->until == Clock::from_time_t(seconds) + 5min);
}

TEST_CASE("a clock that was set back does not stop a rule for ever", "[rules]") {
  const auto now = Clock::now();
  const Firings firings({firing("a", now + 24h)});
  CHECK(firings.limited(rule_with(1), "a", kUser, now)->until <= Clock::now() + 1h);
}

TEST_CASE("the journal outlives the agent", "[rules]") {
  const TemporaryDirectory directory;
  const auto now = std::chrono::floor<std::chrono::milliseconds>(Clock::now());
  std::vector<Firing> none;
  auto journal = FiringJournal::open(directory.path(), "web-1", {}, none);
  REQUIRE(journal);
  CHECK(none.empty());
  Firing first = firing("a", now, Firing::State::under_way);
  first.number = 1;
  first.cause = "it was 412";
  REQUIRE((*journal)->append(first));
  first.state = Firing::State::done;
  first.artifacts = {"20261128T100000Z-orders-1-1a2b3c4d"};
  first.bytes = 400;
  REQUIRE((*journal)->append(first));
  Firing second = firing("b", now, Firing::State::under_way);
  second.number = 2;
  REQUIRE((*journal)->append(second));

  SECTION("one agent at a time") {
    std::vector<Firing> found;
    CHECK(!FiringJournal::open(directory.path(), "web-1", {}, found));
    CHECK(FiringJournal::open(directory.path(), "web-2", {}, found));
  }
  SECTION("what was under way is broken off") {
    journal->reset();
    for (int time = 0; time < 2; ++time) {
      const auto found = read_all(directory.path());
      REQUIRE(found.size() == 2);
      CHECK(found[0].state == Firing::State::done);
      CHECK(found[0].time == now);
      CHECK(found[0].cause == "it was 412");
      CHECK(found[0].artifacts == first.artifacts);
      CHECK(found[0].bytes == 400);
      CHECK(found[1].state == Firing::State::broken_off);
    }
  }
  SECTION("a line that a kill has cut is left out") {
    journal->reset();
    std::ofstream(directory.path() + "/.rules-web-1", std::ios::app) << R"({"number":3,"rule":"he)";
    CHECK(read_all(directory.path()).size() == 2);
  }
  SECTION("it is written anew when it is long") {
    CHECK(!(*journal)->is_long());
    second.why = std::string(900, 'x');
    for (int time = 0; time < 1200; ++time) REQUIRE((*journal)->append(second));
    CHECK((*journal)->is_long());
    REQUIRE((*journal)->replace({first}));
    CHECK(!(*journal)->is_long());
    REQUIRE((*journal)->append(second));
    journal->reset();
    CHECK(read_all(directory.path()).size() == 2);
  }
  SECTION("what no limit needs is forgotten") {
    journal->reset();
    std::vector<Firing> found;
    REQUIRE(FiringJournal::open(directory.path(), "web-1", now + 1s, found));
    CHECK(found.empty());
    CHECK(read_all(directory.path()).empty());
  }
}
