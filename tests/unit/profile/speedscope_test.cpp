#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "profile/form.hpp"
#include "tests/unit/profile/profiles.hpp"

using namespace farport::profile;
using namespace farport::test;
using nlohmann::json;

namespace {

json speedscope(const Profile& profile) {
  return json::parse(written(profile, Form::speedscope));
}

}  // namespace

TEST_CASE("speedscope gets a sampled profile for each thread", "[profile]") {
  const json file = speedscope(ProfileBuilder(Clock::wall)
                                   .thread(7, "main")
                                   .samples(2, {managed("Main"), native("memcpy")})
                                   .sample({managed("Main")}, true)
                                   .thread(8, "")
                                   .sample({})
                                   .take());
  CHECK(file["$schema"] == "https://www.speedscope.app/file-format-schema.json");
  CHECK(file["name"] == "Orders");
  CHECK(
      file["shared"]["frames"] ==
      json::parse(
          R"([{"name":"Main","file":"Orders.dll"},{"name":"memcpy","file":"libc.so.6"},{"name":"[waiting]"}])"));
  REQUIRE(file["profiles"].size() == 2);
  const json first = {{"type", "sampled"},
                      {"name", "main (7)"},
                      {"unit", "nanoseconds"},
                      {"startValue", 0},
                      {"endValue", 30'000'000},
                      {"samples", {{0, 1}, {0, 2}}},
                      {"weights", {20'000'000, 10'000'000}}};
  CHECK(file["profiles"][0] == first);
  CHECK(file["profiles"][1]["name"] == "thread (8)");
  CHECK(file["profiles"][1]["samples"] == json::parse("[[]]"));
}

TEST_CASE("samples of several threads that alternate are kept apart", "[profile]") {
  auto profile = ProfileBuilder().thread(7, "one").sample({managed("Main")}).take();
  profile.threads.push_back({8, "other"});
  for (const std::uint32_t thread : {1U, 0U, 1U}) profile.samples.add({{}, thread, 1, false});
  const json file = speedscope(profile);
  CHECK(file["profiles"][0]["weights"] == json{20'000'000});
  CHECK(file["profiles"][1]["weights"] == json{20'000'000});
}

TEST_CASE("speedscope's file is JSON, whatever names are, however deep a stack", "[profile]") {
  auto profile = ProfileBuilder().thread(1, kHostileName).sample({native(kHostileName)}).take();
  profile.process = kHostileName;
  CHECK(speedscope(profile)["shared"]["frames"][0]["name"] ==
        "a;b\\n</script><img src=x>\"'&\\\\x1b[31m\\u{202e}]]>\\x80\\xff");
  CHECK(speedscope(deep_profile(100'000))["profiles"][0]["samples"][0].size() == 100'000);
  CHECK(speedscope(ProfileBuilder().take())["profiles"].empty());
}
