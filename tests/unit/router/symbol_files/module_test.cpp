// Where files with symbols may be, and what servers call them.
#include <catch2/catch.hpp>

#include "router/symbol_files/symbol_search.hpp"

using namespace farport::router;

namespace {

constexpr const char* kId = "180a373d6afbabf0eb1f09be1bc45bd796a71085";

SampledMapping mapping(std::string path, std::string build_id) {
  return {0x1000, 0x2000, 0, std::move(path), std::move(build_id)};
}

}  // namespace

TEST_CASE("keys are those of the SSQP key conventions, and of debuginfod", "[symbols]") {
  const auto module = module_at(mapping("/app/Foo.so", kId));
  REQUIRE(module);
  CHECK(server_paths(*module) ==
        std::vector<std::string>{"_.debug/elf-buildid-sym-180a373d6afbabf0eb1f09be1bc45bd796a71085/_.debug",
                                 "foo.so/elf-buildid-180a373d6afbabf0eb1f09be1bc45bd796a71085/foo.so",
                                 "buildid/180a373d6afbabf0eb1f09be1bc45bd796a71085/debuginfo"});
}

TEST_CASE("a build id of fewer bytes has zeros behind it in keys alone", "[symbols]") {
  const auto module = module_at(mapping("/app/bar.so", "180a373d6afbabf0eb1f09be1bc45bd7"));
  REQUIRE(module);
  const auto paths = server_paths(*module);
  CHECK(paths[0] == "_.debug/elf-buildid-sym-180a373d6afbabf0eb1f09be1bc45bd700000000/_.debug");
  CHECK(paths[2] == "buildid/180a373d6afbabf0eb1f09be1bc45bd7/debuginfo");
  CHECK(places_in("/s", *module)[0] == "/s/.build-id/18/0a373d6afbabf0eb1f09be1bc45bd7.debug");
}

TEST_CASE("a directory may have symbols as gdb, .NET and symbol servers call them", "[symbols]") {
  const auto module = module_at(mapping("/tmp/libCoreClr.so (deleted)", kId));
  REQUIRE(module);
  CHECK(places_in("/s", *module) ==
        std::vector<std::string>{
            "/s/.build-id/18/0a373d6afbabf0eb1f09be1bc45bd796a71085.debug",
            "/s/_.debug/elf-buildid-sym-180a373d6afbabf0eb1f09be1bc45bd796a71085/_.debug",
            "/s/libCoreClr.so.debug", "/s/libCoreClr.so.dbg",
            "/s/.build-id/18/0a373d6afbabf0eb1f09be1bc45bd796a71085", "/s/libCoreClr.so",
            "/s/libcoreclr.so/elf-buildid-180a373d6afbabf0eb1f09be1bc45bd796a71085/libcoreclr.so"});
}

TEST_CASE("what an agent calls a file leads nowhere else", "[symbols]") {
  for (const char* const path : {"", "/", "/app/", "/app/..", "/app/.", "/app/a\nb", "/app/a\x1b[31m"}) {
    CHECK_FALSE(module_at(mapping(path, kId)));
  }
  CHECK_FALSE(module_at(mapping("/app/" + std::string(256, 'a'), kId)));
  for (const char* const id :
       {"", "18", "180A373D6AFBABF0", "../../../../etc1", "180a373d6afbabf", "180a373d6afbab/0"}) {
    CHECK_FALSE(module_at(mapping("/app/foo.so", id)));
  }
  CHECK_FALSE(module_at(mapping("/app/foo.so", std::string(130, 'a'))));
  const auto odd = module_at(mapping("/app/lib c++?#%\"\\.so", kId));
  REQUIRE(odd);
  CHECK(server_paths(*odd)[1] == "lib%20c%2B%2B%3F%23%25%22%5C.so/elf-buildid-" + std::string(kId) +
                                     "/lib%20c%2B%2B%3F%23%25%22%5C.so");
}
