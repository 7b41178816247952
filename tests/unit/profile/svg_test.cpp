#include <catch2/catch.hpp>

#include "profile/form.hpp"
#include "tests/unit/profile/profiles.hpp"

using namespace farport::profile;
using namespace farport::test;

namespace {

std::string svg(const Profile& profile) {
  return written(profile, Form::svg);
}

bool has(const std::string& picture, std::string_view part) {
  return picture.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a picture has a box for each call, by name", "[profile]") {
  const std::string picture = svg(ProfileBuilder()
                                      .samples(1, {managed("Main"), native("write")})
                                      .samples(3, {managed("Main"), kernel("read")})
                                      .take());
  CHECK(has(
      picture,
      R"(<svg x="0.00" y="92" width="1200.00" height="17"><title>Orders (4 samples, 100.0 %, all)</title>)"));
  CHECK(has(
      picture,
      R"(<svg x="0.00" y="74" width="1200.00" height="17"><title>Main (4 samples, 100.0 %, managed)</title>)"));
  CHECK(has(
      picture,
      R"(<svg x="0.00" y="56" width="900.00" height="17"><title>read (3 samples, 75.0 %, kernel)</title>)"));
  CHECK(has(
      picture,
      R"(<svg x="900.00" y="56" width="300.00" height="17"><title>write (1 samples, 25.0 %, native)</title>)"));
}

TEST_CASE("a picture is XML, whatever names are", "[profile]") {
  auto profile = ProfileBuilder().sample({native(kHostileName), native("\xEF\xBF\xBF")}).take();
  profile.process = kHostileName;
  const std::string picture = svg(profile);
  CHECK(has(picture, "a;b\\n&lt;/script&gt;&lt;img src=x&gt;\"'&amp;\\\\x1b[31m\\u{202e}]]&gt;\\x80\\xff"));
  CHECK_FALSE(has(picture, "<img"));
  CHECK_FALSE(has(picture, "\xEF\xBF\xBF"));
}

TEST_CASE("a picture's size has a bound", "[profile]") {
  const std::string deep = svg(deep_profile(100'000));
  CHECK(has(deep, "height=\"18056\""));
  CHECK(deep.size() < 300'000);
  ProfileBuilder wide;
  for (int each = 0; each < 20'000; ++each) wide.sample({native("f" + std::to_string(each))});
  CHECK(svg(wide.take()).size() < 3'000);
}

TEST_CASE("a picture of no samples is whole", "[profile]") {
  CHECK(svg(ProfileBuilder().take()).ends_with("</svg>\n"));
}
