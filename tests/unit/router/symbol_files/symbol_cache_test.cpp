// What symbol servers have sent, kept for the next time.
#include <ctime>

#include <fcntl.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "router/symbol_files/symbol_search.hpp"
#include "tests/unit/auth/fixtures.hpp"

using namespace farport;
using namespace farport::router;
using auth::test::TemporaryDirectory;

namespace {

const Module kModule{"foo.so", "180a373d6afbabf0eb1f09be1bc45bd796a71085"};

}  // namespace

TEST_CASE("what is kept is found the next time, and nothing is left of what isn't", "[symbols]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/cache/farport/symbols";
  {
    const auto cache = SymbolCache::open(path);
    REQUIRE(cache);
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
    CHECK_FALSE(cache->find(kModule));
    {
      auto dropped = cache->begin();
      REQUIRE(dropped);
    }
    CHECK(std::filesystem::is_empty(path));
    auto draft = cache->begin();
    REQUIRE(draft);
    REQUIRE(::write(draft->fd(), "x", 1) == 1);
    CHECK_FALSE(cache->find(kModule));
    REQUIRE(draft->keep(kModule));
  }
  const auto again = SymbolCache::open(path);
  REQUIRE(again);
  const UniqueFd found = again->find(kModule);
  char x = 0;
  REQUIRE(found);
  CHECK(::read(found.get(), &x, 1) == 1);
}

TEST_CASE("a cache that others may write to is none", "[symbols]") {
  const TemporaryDirectory directory;
  REQUIRE(SymbolCache::open(directory.path() + "/symbols"));
  REQUIRE(::chmod((directory.path() + "/symbols").c_str(), 0777) == 0);
  CHECK_FALSE(SymbolCache::open(directory.path() + "/symbols"));
  REQUIRE(::symlink(directory.path().c_str(), (directory.path() + "/link").c_str()) == 0);
  CHECK_FALSE(SymbolCache::open(directory.path() + "/link"));
  CHECK_FALSE(SymbolCache::open("/proc/nothing/symbols"));
}

TEST_CASE("drafts of those that were killed go, and those under way stay", "[symbols]") {
  const TemporaryDirectory directory;
  const std::string old = directory.path() + "/symbols/.draft-old";
  const std::string young = directory.path() + "/symbols/.draft-young";
  REQUIRE(SymbolCache::open(directory.path() + "/symbols"));
  for (const std::string& each : {old, young}) UniqueFd(::open(each.c_str(), O_CREAT | O_WRONLY, 0600));
  const std::time_t now = std::time(nullptr);
  const std::array<timespec, 2> before{timespec{now - 90'000, 0}, timespec{now - 90'000, 0}};
  REQUIRE(::utimensat(AT_FDCWD, old.c_str(), before.data(), 0) == 0);
  REQUIRE(SymbolCache::open(directory.path() + "/symbols"));
  CHECK_FALSE(std::filesystem::exists(old));
  CHECK(std::filesystem::exists(young));
}
