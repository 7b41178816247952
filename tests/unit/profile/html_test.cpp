#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "profile/form.hpp"
#include "tests/unit/profile/profiles.hpp"

using namespace farport::profile;
using namespace farport::test;
using nlohmann::json;

namespace {

constexpr std::string_view kBegin = "<script id=\"profile\" type=\"application/json\">";

/// What is between the page's begin and its end.
std::string data_text(const std::string& page) {
  const std::size_t begin = page.find(kBegin) + kBegin.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

json data_of(const Profile& profile) {
  return json::parse(data_text(written(profile, Form::html)));
}

}  // namespace

TEST_CASE("the page has the profile as JSON", "[profile]") {
  auto profile = ProfileBuilder(Clock::wall)
                     .thread(7, "main")
                     .samples(2, {managed("Main"), native("memcpy")})
                     .thread(8, "")
                     .sample({managed("Main")}, true)
                     .take();
  profile.lost = 3;
  profile.began = std::chrono::system_clock::time_point(std::chrono::milliseconds(1'790'000'000'123));
  const json data = data_of(profile);
  CHECK(data["process"] == "Orders");
  CHECK(data["pid"] == 42);
  CHECK(data["clock"] == "wall");
  CHECK(data["began"] == 1'790'000'000'123);
  CHECK(data["duration"] == 30'000'000);
  CHECK(data["interval"] == 10'000'000);
  CHECK(data["samples"] == 3);
  CHECK(data["lost"] == 3);
  CHECK(data["modules"] == json{"Orders.dll", "libc.so.6"});
  CHECK(data["kinds"] == json{"managed", "runtime", "native", "kernel"});
  CHECK(data["names"] == json{"Main", "memcpy"});
  CHECK(data["frameModules"] == json{0, 1});
  CHECK(data["frameKinds"] == json{0, 2});
  CHECK(data["frames"] == json{0, 1});
  CHECK(data["back"] == json{1, 1});
  CHECK(data["threads"] == json::parse(R"([{"id":"7","name":"main"},{"id":"8","name":""}])"));
  CHECK(data["counts"] == json{1, 1, 1, 1, 2, 0, 0, 2});
}

TEST_CASE("the page of no samples is whole", "[profile]") {
  const json data = data_of(ProfileBuilder().take());
  CHECK(data["frames"].empty());
  CHECK(data["counts"].empty());
  CHECK(data["threads"].empty());
}

TEST_CASE("no name ends the page's JSON", "[profile]") {
  auto profile = ProfileBuilder().thread(1, kHostileName).sample({native(kHostileName)}).take();
  profile.process = kHostileName;
  const std::string text = data_text(written(profile, Form::html));
  CHECK(text.find('<') == std::string::npos);
  const json data = json::parse(text);
  const std::string shown = "a;b\\n</script><img src=x>\"'&\\\\x1b[31m\\u{202e}]]>\\x80\\xff";
  CHECK(data["process"] == shown);
  CHECK(data["names"][0] == shown);
  CHECK(data["threads"][0]["name"] == shown);
}

TEST_CASE("the page's size is that of its calls, not of its samples", "[profile]") {
  const std::size_t few = written(ProfileBuilder().samples(10, {managed("Main")}).take(), Form::html).size();
  const std::size_t many =
      written(ProfileBuilder().samples(100'000, {managed("Main")}).take(), Form::html).size();
  CHECK(many < few + 50);
  CHECK(written(deep_profile(100'000), Form::html).size() < few + 1'000'000);
}

TEST_CASE("the page lets nothing in but its own style and script", "[profile]") {
  const std::string page = written(ProfileBuilder().take(), Form::html);
  CHECK(page.find("default-src 'none'; script-src 'sha256-") != std::string::npos);
  CHECK(page.find("unsafe") == std::string::npos);
  CHECK(page.find("://") == std::string::npos);
}
