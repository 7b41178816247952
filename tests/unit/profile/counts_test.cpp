#include <map>

#include <catch2/catch.hpp>

#include "profile/profile.hpp"
#include "tests/unit/profile/profiles.hpp"

using namespace farport::profile;
using namespace farport::test;

TEST_CASE("samples are counted by call, thread and state", "[profile]") {
  const auto profile = ProfileBuilder(Clock::wall)
                           .thread(7, "one")
                           .samples(2, {managed("Main")})
                           .sample({managed("Main")}, true)
                           .thread(8, "other")
                           .sample({managed("Main")})
                           .sample({})
                           .take();
  const auto counts = profile.samples.counts();
  REQUIRE(counts.size() == 4);
  CHECK(counts[0].call == kRoot);
  CHECK(counts[0].thread == 1);
  CHECK(counts[1].samples == 2);
  CHECK_FALSE(counts[1].waiting);
  CHECK(counts[2].samples == 1);
  CHECK(counts[2].waiting);
  CHECK(counts[3].call == 1);
  CHECK(counts[3].thread == 1);
  CHECK(counts[3].samples == 1);
}

TEST_CASE("many samples are counted as few are", "[profile]") {
  Profile profile = deep_profile(1000);
  profile.threads.push_back({43, "other"});
  const auto keep = GENERATE(Keep::counts, Keep::each);
  profile.samples = Samples(keep);
  std::map<std::pair<CallId, std::uint32_t>, std::uint64_t> expected;
  for (std::uint32_t at = 0; at < 300'000; ++at) {
    const CallId call = at * 2'654'435'761U >> 22;
    const std::uint32_t thread = at % 3 == 0 ? 1 : 0;
    const CallId known = call % static_cast<CallId>(profile.calls.size());
    profile.samples.add({{}, thread, known, false});
    ++expected[{known, thread}];
  }
  const auto counts = profile.samples.counts();
  CHECK(profile.samples.size() == 300'000);
  CHECK(profile.samples.each().size() == (keep == Keep::each ? 300'000 : 0));
  REQUIRE(counts.size() == expected.size());
  auto each = expected.begin();
  for (const Count& count : counts) {
    CHECK(std::pair(count.call, count.thread) == each->first);
    CHECK(count.samples == each->second);
    ++each;
  }
}

TEST_CASE("calls that have become one are counted as one", "[profile]") {
  Samples samples(GENERATE(Keep::counts, Keep::each));
  for (const CallId call : {1U, 2U, 3U, 1U}) samples.add({{}, 0, call, false});
  samples.remap_calls({kRoot, 2, 2, 1});
  const auto counts = samples.counts();
  REQUIRE(counts.size() == 2);
  CHECK(counts[0].call == 1);
  CHECK(counts[0].samples == 1);
  CHECK(counts[1].call == 2);
  CHECK(counts[1].samples == 3);
  CHECK(samples.size() == 4);
}

TEST_CASE("there is an end to samples, one by one and counted", "[profile]") {
  Samples alike(Keep::counts);
  Samples each(Keep::each);
  Samples different(Keep::counts);
  while (!each.full()) {
    each.add({{}, 0, 7, false});
    alike.add({{}, 0, 7, false});
  }
  CHECK(each.size() == kMaxSamples);
  CHECK_FALSE(alike.full());
  for (CallId call = 0; !different.full(); ++call) different.add({{}, 0, call, false});
  CHECK(different.size() < 2 * kMaxCounts);
}

TEST_CASE("a call's total has what it called", "[profile]") {
  const auto profile =
      ProfileBuilder().samples(2, {managed("Main")}).samples(3, {managed("Main"), native("memcpy")}).take();
  const Tally tallied = tally(profile.calls, profile.samples.counts());
  CHECK(tallied.self == std::vector<std::uint64_t>{0, 2, 3});
  CHECK(tallied.total == std::vector<std::uint64_t>{5, 5, 3});
}
