// Whether the kernel lets a runtime be profiled, and why not.
#include <cerrno>

#include <linux/capability.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "router/agent/doctor/dump_check.hpp"

using namespace farport;
using namespace farport::router;
using Level = Finding::Level;

namespace {

ProfileFacts facts_of(int paranoid, std::optional<int> tried, bool own_process = true) {
  ProfileFacts facts;
  facts.paranoid = paranoid;
  facts.tried = tried;
  facts.own_process = own_process;
  return facts;
}

Finding profile_of(const ProfileFacts& facts) {
  return judge_profile(facts, "orders").finding;
}

constexpr std::uint64_t bit_of(int capability) {
  return std::uint64_t{1} << capability;
}

}  // namespace

TEST_CASE("a counter that opens is what counts", "[doctor]") {
  CHECK(profile_of(facts_of(4, 0)).level == Level::ok);
}

TEST_CASE("refusals of the kernel are told apart", "[doctor]") {
  CHECK_THAT(profile_of(facts_of(3, EACCES)).text, Catch::Contains("perf_event_paranoid is 3"));
  CHECK_THAT(profile_of(facts_of(2, EACCES, false)).text, Catch::Contains("another user's process"));
  ProfileFacts filtered = facts_of(2, EPERM);
  filtered.own_filter = true;
  CHECK_THAT(profile_of(filtered).text, Catch::Contains("seccomp profile"));
  CHECK_THAT(profile_of(facts_of(2, ENOSYS)).text, Catch::Contains("this kernel has no"));
  filtered.tried = ENOSYS;
  CHECK_THAT(profile_of(filtered).text, Catch::Contains("a filter of system calls"));
  CHECK(profile_of(facts_of(2, ESRCH)).level == Level::warning);
  CHECK(profile_of({}).level == Level::warning);
}

TEST_CASE("what the agent's own filter forbids is foretold from the facts, and said to be", "[doctor]") {
  const Finding may = profile_of(facts_of(2, std::nullopt));
  CHECK(may.level == Level::ok);
  CHECK_THAT(may.text, Catch::Contains("own filter of system calls"));
  CHECK(profile_of(facts_of(2, std::nullopt, false)).level == Level::warning);
  CHECK(profile_of(facts_of(3, std::nullopt)).level == Level::warning);
  ProfileFacts capable = facts_of(3, std::nullopt, false);
  capable.capabilities = bit_of(CAP_PERFMON);
  CHECK(profile_of(capable).level == Level::ok);
  capable = facts_of(2, std::nullopt, false);
  capable.capabilities = bit_of(CAP_SYS_PTRACE);
  CHECK(profile_of(capable).level == Level::ok);
}

TEST_CASE("nothing is tried that the agent has given up", "[doctor]") {
  CHECK_FALSE(look_at_profile(::getpid(), ::geteuid(), {true}).tried);
}
