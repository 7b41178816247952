// Whether the kernel lets a runtime be profiled, and why not.
#include <cerrno>

#include <unistd.h>

#include <catch2/catch.hpp>

#include "confinement/confinement.hpp"
#include "router/agent/doctor/dump_check.hpp"
#include "router/agent/sampler/sampler_looks.hpp"

using namespace farport;
using namespace farport::router;
using Level = Finding::Level;

namespace {

SamplingTry tried_with(int paranoid, int error, bool own_process = true) {
  SamplingTry tried;
  tried.facts.paranoid = paranoid;
  tried.facts.own_process = own_process;
  tried.error = error;
  return tried;
}

Finding profile_of(const SamplingTry& tried) {
  return judge_profile(tried, "orders").finding;
}

}  // namespace

TEST_CASE("a counter that opens is what counts", "[doctor]") {
  CHECK(profile_of(tried_with(4, 0)).level == Level::ok);
}

TEST_CASE("refusals of the kernel are told apart", "[doctor]") {
  CHECK_THAT(profile_of(tried_with(3, EACCES)).text, Catch::Contains("perf_event_paranoid is 3"));
  CHECK_THAT(profile_of(tried_with(2, EACCES, false)).text, Catch::Contains("another user's process"));
  SamplingTry filtered = tried_with(2, EPERM);
  filtered.facts.own_filter = true;
  CHECK_THAT(profile_of(filtered).text, Catch::Contains("seccomp profile"));
  CHECK_THAT(profile_of(tried_with(2, ENOSYS)).text, Catch::Contains("this kernel has no"));
  filtered.error = ENOSYS;
  CHECK_THAT(profile_of(filtered).text, Catch::Contains("a filter of system calls"));
  CHECK(profile_of(tried_with(2, ESRCH)).level == Level::warning);
}

TEST_CASE("what could not be tried is no profile", "[doctor]") {
  const Result<SamplingTry> failed = fail("sample", "process 7", "the look at it has failed");
  CHECK(judge_profile(failed, "orders").finding.level == Level::warning);
  CHECK_THAT(judge_profile(failed, "orders").finding.text, Catch::Contains("the look at it has failed"));
  CHECK_THAT(judge_profile(look_whether_sampled(nullptr, 0, 0), "orders").finding.text,
             Catch::Contains("not visible"));
}

TEST_CASE("the sampler tries a counter", "[doctor]") {
  const auto sampler = SamplerProcess::start([] { confinement::confine_sampler(); });
  REQUIRE(sampler);
  const auto tried = look_whether_sampled(&*sampler, ::getpid(), ::geteuid());
  REQUIRE(tried);
  CHECK(tried->facts.own_process);
  CHECK_FALSE(look_whether_sampled(nullptr, ::getpid(), ::geteuid()));
  CHECK_FALSE(look_whether_sampled(&*sampler, 0, ::geteuid()));
}
