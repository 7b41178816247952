#include "router/agent/runtimes/module_paths.hpp"

#include <catch2/catch.hpp>

using namespace farport::router;

namespace {

std::string directory_in(const std::string& maps) {
  const auto found = module_paths_in(maps);
  return found ? found->directory : std::string("none");
}

}  // namespace

TEST_CASE("the runtime's library is found in a memory map", "[router]") {
  CHECK(directory_in("7f-80 r-xp 0 08:01 7  /usr/share/dot net/10.0/libcoreclr.so\n") ==
        "/usr/share/dot net/10.0");
  CHECK(directory_in("7f-80 r-xp 0 08:01 7  /a/libother.so\n7f-80 r 0 08:01 7 /b/libcoreclr.so") == "/b");
  CHECK(directory_in("7f-80 r-xp 0 08:01 7  /a/libcoreclr.so.dbg\n7f-80 rw-p 0 00:00 0\n") == "none");
  CHECK(directory_in("") == "none");
}

TEST_CASE("a runtime that an upgrade has replaced is told from one that lies there", "[router]") {
  const auto replaced = module_paths_in("7f-80 r-xp 0 08:01 7  /a/b/libcoreclr.so (deleted)\n");
  REQUIRE(replaced);
  CHECK(replaced->directory == "/a/b");
  CHECK(replaced->replaced);
  CHECK(replaced->mapped.empty());
  CHECK_FALSE(module_paths_in("7f-80 r-xp 0 08:01 7  /a/b/libcoreclr.so\n")->replaced);
}

TEST_CASE("libraries and assemblies are named once each", "[router]") {
  const auto found = module_paths_in(
      "7f-80 r--p 0 08:01 7  /a/libcoreclr.so\n7f-80 r-xp 0 08:01 7  /a/libcoreclr.so\n"
      "7f-80 r--p 0 08:01 8  /app/Orders.dll\n7f-80 r--p 0 08:01 8  /app/Gone.dll (deleted)\n"
      "7f-80 r--p 0 08:01 8  /app/appsettings.json\n7f-80 rw-p 0 00:00 0  [heap]\n");
  REQUIRE(found);
  CHECK(found->mapped == std::vector<std::string>{"/a/libcoreclr.so", "/app/Orders.dll"});
}
