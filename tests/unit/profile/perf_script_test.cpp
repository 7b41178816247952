#include <catch2/catch.hpp>

#include "profile/form.hpp"
#include "tests/unit/profile/profiles.hpp"

using namespace farport::profile;
using namespace farport::test;

namespace {

std::string perf_script(const Profile& profile) {
  return written(profile, Form::perf_script);
}

}  // namespace

TEST_CASE("samples are printed as perf script prints them", "[profile]") {
  Frame memcpy = native("memcpy");
  memcpy.address = 0xabc;
  Frame unknown = native("");
  unknown.address = 0x1234;
  auto profile = ProfileBuilder()
                     .thread(43, ".NET TP Worker")
                     .sample({managed("Main(int32)"), memcpy})
                     .sample({unknown, kernel("read")})
                     .take();
  profile.began = std::chrono::system_clock::time_point(std::chrono::seconds(1'790'000'000));
  CHECK(perf_script(profile) ==
        ".NET_TP_Worker 42/43 [000] 1790000000.000000000:   10000000 cpu-clock: \n"
        "\t             abc memcpy+0x0 (libc.so.6)\n"
        "\t               0 Main(int32)+0x0 (Orders.dll)\n"
        "\n"
        ".NET_TP_Worker 42/43 [000] 1790000000.010000000:   10000000 cpu-clock: \n"
        "\t               0 read+0x0 ([kernel.kallsyms])\n"
        "\t            1234 [unknown] (libc.so.6)\n"
        "\n"
        "swapper 0/0 [000] 1790000000.020000000:   10000000 idle: \n"
        "\n");
}

TEST_CASE("perf's form shows what waited, and what has no thread's name or module", "[profile]") {
  const auto profile =
      ProfileBuilder(Clock::wall).thread(43, "").sample({frame(FrameKind::native, "f", "")}, true).take();
  CHECK(perf_script(profile) ==
        "Orders 42/43 [000] 0.000000000:   10000000 cpu-clock: \n"
        "\t               0 [waiting] ([waiting])\n"
        "\t               0 f+0x0 ([unknown])\n"
        "\n"
        "swapper 0/0 [000] 0.010000000:   10000000 idle: \n"
        "\n");
}

TEST_CASE("where a thread has no samples for a while, its last one ends in perf's form", "[profile]") {
  auto profile = ProfileBuilder().thread(43, "a").take();
  for (const int time : {50, 0, 14}) profile.samples.add({std::chrono::milliseconds(time), 0, kRoot, false});
  profile.samples.sort_by_time();
  CHECK(perf_script(profile) ==
        "a 42/43 [000] 0.000000000:   10000000 cpu-clock: \n\n"
        "a 42/43 [000] 0.014000000:   10000000 cpu-clock: \n\n"
        "swapper 0/0 [000] 0.024000000:   10000000 idle: \n\n"
        "a 42/43 [000] 0.050000000:   10000000 cpu-clock: \n\n"
        "swapper 0/0 [000] 0.060000000:   10000000 idle: \n\n");
}

TEST_CASE("no name makes another sample or frame in perf's form", "[profile]") {
  const auto profile =
      ProfileBuilder()
          .thread(1, "a 1/2 3.0: 1 x:\n")
          .sample({frame(FrameKind::native, kHostileName, "m (x)[y]\n"), kernel("() ([kernel])\n")})
          .take();
  CHECK(
      perf_script(profile) ==
      "a_1_2_3.0__1_x__ 42/1 [000] 0.000000000:   10000000 cpu-clock: \n"
      "\t               0 () ([kernel])\\n+0x0 ([kernel.kallsyms])\n"
      "\t               0 a;b\\n</script><img src=x>\"'&\\\\x1b[31m\\u{202e}]]>\\x80\\xff+0x0 (m__x__y_\\n)\n"
      "\n"
      "swapper 0/0 [000] 0.010000000:   10000000 idle: \n"
      "\n");
}

TEST_CASE("a stack as deep as it likes is printed in perf's form", "[profile]") {
  const std::string text = perf_script(deep_profile(100'000));
  CHECK(std::count(text.begin(), text.end(), '\n') == 100'004);
}
