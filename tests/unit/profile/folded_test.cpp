#include <catch2/catch.hpp>

#include "tests/unit/profile/profiles.hpp"

using namespace farport::profile;
using namespace farport::test;

namespace {

std::string folded(const Profile& profile) {
  return written(profile, Form::folded);
}

}  // namespace

TEST_CASE("folded stacks are a line each, whichever threads they are from", "[profile]") {
  const auto profile = ProfileBuilder()
                           .thread(1, "one")
                           .samples(2, {native("start"), managed("Main"), kernel("read")})
                           .sample({native("start"), managed("Main")})
                           .thread(2, "two")
                           .sample({native("start"), managed("Main"), kernel("read")})
                           .take();
  CHECK(folded(profile) == "Orders;start;Main_[j] 1\nOrders;start;Main_[j];read_[k] 3\n");
}

TEST_CASE("folded stacks tell what waited", "[profile]") {
  const auto profile =
      ProfileBuilder(Clock::wall).sample({managed("Main")}).samples(3, {managed("Main")}, true).take();
  CHECK(folded(profile) == "Orders;Main_[j] 1\nOrders;Main_[j];[waiting] 3\n");
}

TEST_CASE("a sample without a stack is the process's", "[profile]") {
  CHECK(folded(ProfileBuilder().sample({}).take()) == "Orders 1\n");
  CHECK(folded(ProfileBuilder().take()).empty());
}

TEST_CASE("a folded stack is one line of its frames, whatever they are called", "[profile]") {
  auto profile = ProfileBuilder().sample({native(kHostileName), native("inner")}).take();
  profile.process = "a;b\nc";
  CHECK(folded(profile) ==
        "a:b\\nc;a:b\\n</script><img src=x>\"'&\\\\x1b[31m\\u{202e}]]>\\x80\\xff;inner 1\n");
}

TEST_CASE("a stack as deep as it likes is folded", "[profile]") {
  const std::string line = folded(deep_profile(100'000));
  CHECK(std::count(line.begin(), line.end(), ';') == 100'000);
}
