#include <filesystem>

#include <fcntl.h>

#include <catch2/catch.hpp>

#include "base/files.hpp"
#include "base/unique_fd.hpp"
#include "tests/unit/auth/fixtures.hpp"

using namespace farport;
using auth::test::TemporaryDirectory;

TEST_CASE("an open file is at its path until something else is", "[base]") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("file", "one");
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(file);
  CHECK(is_at(file.get(), path));
  std::filesystem::rename(path, directory.path("moved"));
  CHECK_FALSE(is_at(file.get(), path));
  std::filesystem::create_symlink(directory.path("moved"), path);
  CHECK_FALSE(is_at(file.get(), path));
  CHECK(is_at(file.get(), directory.path("moved")));
  CHECK_FALSE(is_at(-1, path));
}
