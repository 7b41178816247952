#include "profile/form.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/profile/profiles.hpp"

using namespace farport::profile;
using namespace farport::test;
using farport::fail;
using farport::Result;

TEST_CASE("a file's name says its form", "[profile]") {
  CHECK(form_of("/var/tmp/orders.folded") == Form::folded);
  CHECK(form_of("orders.html") == Form::html);
  CHECK(form_of("orders.svg") == Form::svg);
  CHECK(form_of("orders.speedscope.json") == Form::speedscope);
  CHECK(form_of("orders.pb.gz") == Form::pprof);
  CHECK(form_of("orders.txt") == Form::perf_script);
  CHECK(form_of("orders.perf.data.txt") == Form::perf_script);
  const auto none = form_of("orders.nettrace");
  REQUIRE_FALSE(none);
  CHECK(none.error().hint.find(".html, .svg, .speedscope.json, .pb.gz, .txt, .folded") != std::string::npos);
}

TEST_CASE("a form that takes counts is the same without each sample", "[profile]") {
  const auto made = [](Keep keep) {
    return ProfileBuilder(Clock::wall, keep)
        .samples(2, {managed("Main"), native("memcpy")})
        .sample({managed("Main")}, true)
        .sample({managed("Main"), native("memcpy")})
        .take();
  };
  for (const Form form : {Form::html, Form::svg, Form::pprof, Form::folded}) {
    CHECK(keep_for(form) == Keep::counts);
    CHECK(written(made(Keep::counts), form) == written(made(Keep::each), form));
  }
  for (const Form form : {Form::speedscope, Form::perf_script}) CHECK(keep_for(form) == Keep::each);
}

TEST_CASE("writing ends with the sink's first error", "[profile]") {
  const auto profile = deep_profile(100'000);
  int asked = 0;
  const auto full = [&](std::string_view) -> Result<void> {
    ++asked;
    return fail("write to", "orders", "No space left on device");
  };
  for (const Form form :
       {Form::html, Form::svg, Form::speedscope, Form::pprof, Form::perf_script, Form::folded}) {
    asked = 0;
    const Result<void> done = write_profile(profile, form, full);
    REQUIRE_FALSE(done);
    CHECK(done.error().why == "No space left on device");
    CHECK(asked == 1);
  }
}

TEST_CASE("no file is greater than can be wanted", "[profile]") {
  std::uint64_t bytes = 0;
  Output out([&](std::string_view piece) {
    bytes += piece.size();
    return Result<void>{};
  });
  const std::string piece(std::size_t{64} << 20, 'x');
  while (out.good()) out.put(piece);
  CHECK(bytes == kMaxBytes);
  const Result<void> done = out.finish();
  REQUIRE_FALSE(done);
  CHECK(done.error().hint.find(".html") != std::string::npos);
}
