// What looks like expired certificates may be a clock.
#include <catch2/catch.hpp>

#include "cli/commands/examine.hpp"

using namespace farport;
using namespace farport::cli;
using farport::auth::Validity;

namespace {

constexpr std::time_t kDay = 86'400;
constexpr std::time_t kNow = 20'000 * kDay;
constexpr Validity kPast{kNow - 100 * kDay, kNow - 10 * kDay};
constexpr Validity kPresent{kNow - kDay, kNow + 89 * kDay};
constexpr Validity kFuture{kNow + 10 * kDay, kNow + 100 * kDay};

std::string said_of(const ClockSigns& signs) {
  const auto wrong = check_clocks(signs, "the agent");
  return wrong ? wrong->text : std::string();
}

}  // namespace

TEST_CASE("two certificates that are out of their time the same way are a clock", "[cli]") {
  CHECK_THAT(said_of({kNow, kPast, kPast}), Catch::Contains("both certificates have expired"));
  CHECK_THAT(said_of({kNow, kFuture, kFuture}), Catch::Contains("neither certificate is valid yet"));
}

TEST_CASE("one certificate that is out of its time is no clock", "[cli]") {
  CHECK(said_of({kNow, kPast, kPresent}).empty());
  CHECK(said_of({kNow, kPresent, kPast}).empty());
  CHECK(said_of({kNow, kPast, kFuture}).empty());
  CHECK(said_of({kNow, kPast, std::nullopt}).empty());
  CHECK(said_of({kNow, std::nullopt, kPast}).empty());
}

TEST_CASE("an agent for which a valid certificate has expired has another time", "[cli]") {
  CHECK_THAT(said_of({kNow, kPresent, kPresent, true}), Catch::Contains("one of the two clocks is wrong"));
}

TEST_CASE("both times are named where they are more than five minutes apart", "[cli]") {
  CHECK(said_of({kNow, {}, {}, false, kNow - 300}).empty());
  CHECK_THAT(said_of({kNow, {}, {}, false, kNow + 301}), Catch::Contains("5 minutes apart"));
  CHECK_THAT(said_of({kNow, {}, {}, false, kNow - 365 * kDay}), Catch::Contains("365 days apart"));
  CHECK_THAT(said_of({kNow, {}, {}, false, kNow - 365 * kDay}), Catch::Contains("2023"));
}
