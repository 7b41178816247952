#include <catch2/catch.hpp>

#include "profile/profile.hpp"
#include "tests/unit/profile/profiles.hpp"

using namespace farport::profile;
using namespace farport::test;
using namespace std::chrono_literals;

TEST_CASE("the frames that took most come first", "[profile]") {
  const auto profile = ProfileBuilder()
                           .samples(3, {managed("Main"), managed("Price"), native("memcpy")})
                           .samples(1, {managed("Main"), managed("Price")})
                           .take();
  const auto top = top_frames(profile, 10);
  REQUIRE(top.size() == 3);
  CHECK(profile.frames[top[0].frame].name == "memcpy");
  CHECK(top[0].self == 3);
  CHECK(top[0].total == 3);
  CHECK(profile.frames[top[1].frame].name == "Price");
  CHECK(top[1].self == 1);
  CHECK(top[1].total == 4);
  CHECK(profile.frames[top[2].frame].name == "Main");
  CHECK(top[2].self == 0);
  CHECK(top[2].total == 4);
  CHECK(top_frames(profile, 1).size() == 1);
}

TEST_CASE("a frame that calls itself counts once", "[profile]") {
  const auto profile = ProfileBuilder()
                           .samples(2, {managed("Even"), managed("Odd"), managed("Even"), managed("Odd")})
                           .sample({managed("Odd")})
                           .take();
  const auto top = top_frames(profile, 10);
  REQUIRE(top.size() == 2);
  CHECK(profile.frames[top[0].frame].name == "Odd");
  CHECK(top[0].self == 3);
  CHECK(top[0].total == 3);
  CHECK(top[1].total == 2);
}

TEST_CASE("a stack as deep as it likes is counted", "[profile]") {
  const auto top = top_frames(deep_profile(100'000), 1);
  REQUIRE(top.size() == 1);
  CHECK(top[0].total == 1);
}

TEST_CASE("the table says what of, whose code and how much", "[profile]") {
  auto profile = ProfileBuilder()
                     .samples(3, {managed("Main"), native("memcpy")})
                     .samples(1, {managed("Main"), kernel("read")})
                     .take();
  profile.lost = 2;
  CHECK(top_table(profile, 2) ==
        "Orders (pid 42): 4 samples in 40.0 ms, one each 10.0 ms of processor time; 2 lost\n"
        "\n"
        "     SELF      %     TOTAL      %  KIND     FRAME\n"
        "        3   75.0         3   75.0  native   memcpy [libc.so.6]\n"
        "        1   25.0         1   25.0  kernel   read [[kernel]]\n");
}

TEST_CASE("the table tells what waited where the clock is the wall's", "[profile]") {
  const auto profile =
      ProfileBuilder(Clock::wall).sample({managed("Main")}).samples(3, {managed("Main")}, true).take();
  CHECK(top_table(profile, 5) ==
        "Orders (pid 42): 4 samples in 40.0 ms, one each 10.0 ms of each thread's time\n"
        "\n"
        "     SELF      %     TOTAL      %   WAITING KIND     FRAME\n"
        "        4  100.0         4  100.0         3 managed  Main [Orders.dll]\n");
}

TEST_CASE("the table of no samples has no rows", "[profile]") {
  CHECK(top_table(ProfileBuilder().take(), 5).ends_with("FRAME\n"));
}

TEST_CASE("the table obeys no name", "[profile]") {
  const std::string table = top_table(ProfileBuilder().sample({native(kHostileName)}).take(), 5);
  CHECK(table.find('\x1b') == std::string::npos);
  CHECK(table.find("\\x1b[31m\\u{202e}]]>\\x80\\xff") != std::string::npos);
  CHECK(std::count(table.begin(), table.end(), '\n') == 4);
}

TEST_CASE("a duration is said in the unit that suits it", "[profile]") {
  CHECK(duration_text(30s) == "30.0 s");
  CHECK(duration_text(10101us) == "10.1 ms");
  CHECK(duration_text(1500ns) == "1.5 us");
  CHECK(duration_text(0ns) == "0 ns");
}
