#include "router/mirror/module_receiver.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <fcntl.h>

#include <catch2/catch.hpp>

#include "tests/unit/archived.hpp"
#include "tests/unit/auth/fixtures.hpp"

using namespace farport;
using namespace farport::router;
using farport::auth::test::TemporaryDirectory;
using farport::test::archived;
using farport::test::kArchiveEnd;

namespace {

namespace fs = std::filesystem;
using Existing = OutputFile::Existing;

/// Where a dump would be, and an archive that lies elsewhere.
struct Place {
  TemporaryDirectory archives;
  TemporaryDirectory dumps;
  std::string path = modules_beside(dumps.path("x.dmp"));

  [[nodiscard]] Result<void> unpack(const std::string& archive, Existing existing = Existing::refuse) const {
    const UniqueFd file(::open(archives.file("archive", archive).c_str(), O_RDONLY | O_CLOEXEC));
    return unpack_modules(file.get(), path, existing);
  }
  [[nodiscard]] std::string content(const std::string& name) const {
    std::ifstream file(path + "/" + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] bool is_empty() const {
    return fs::directory_iterator(dumps.path()) == fs::directory_iterator();
  }
};

}  // namespace

TEST_CASE("the modules of a runtime are unpacked as they are", "[router]") {
  const Place place;
  REQUIRE(place.unpack(archived("a.so", "abc") + archived("b.dll", "de") + kArchiveEnd));
  CHECK(place.content("a.so") == "abc");
  CHECK(place.content("b.dll") == "de");
}

TEST_CASE("of an archive that is not whole nothing is left", "[router]") {
  const Place place;
  CHECK_FALSE(place.unpack(archived("a.so", "abc")));
  CHECK_FALSE(
      place.unpack(archived("a.so", "abc") + archived("b.dll", std::string(600, 'x')).substr(0, 700)));
  CHECK_FALSE(place.unpack(archived("a.so", "abc") + archived("a.so", "abc") + kArchiveEnd));
  CHECK_FALSE(place.unpack(archived("../a.so", "abc") + kArchiveEnd));
  CHECK_FALSE(place.unpack(kArchiveEnd));
  CHECK_FALSE(place.unpack(""));
  CHECK(place.is_empty());
}

TEST_CASE("modules replace modules alone, and only if they may", "[router]") {
  const Place place;
  REQUIRE(place.unpack(archived("old.so", "old") + kArchiveEnd));
  const auto refused = place.unpack(archived("new.so", "abc") + kArchiveEnd);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().cause == EEXIST);
  REQUIRE(place.unpack(archived("new.so", "abc") + kArchiveEnd, Existing::replace));
  CHECK(place.content("new.so") == "abc");
  CHECK_FALSE(fs::exists(place.path + "/old.so"));
  for (const char* name : {"notes.md", "sub.so/a"}) {
    fs::create_directories(fs::path(place.path + "/" + name).parent_path());
    std::ofstream(place.path + "/" + name) << "mine";
    CHECK_FALSE(place.unpack(archived("new.so", "abc") + kArchiveEnd, Existing::replace));
    CHECK(place.content(name) == "mine");
    fs::remove_all(place.path);
  }
  fs::create_symlink(place.archives.path(), place.path);
  CHECK_FALSE(place.unpack(archived("new.so", "abc") + kArchiveEnd, Existing::replace));
}
