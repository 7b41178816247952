#include "base/journal.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/unit/auth/fixtures.hpp"

using namespace farport;
using farport::auth::test::TemporaryDirectory;

namespace {

struct Read {
  std::vector<std::string> lines;
  std::unique_ptr<Journal> journal;
};

Read read_journal(const std::string& path) {
  Read read;
  auto journal = Journal::open(path, [&read](std::string_view line) -> Result<void> {
    read.lines.emplace_back(line);
    return {};
  });
  REQUIRE(journal);
  read.journal = std::move(*journal);
  return read;
}

}  // namespace

TEST_CASE("a journal has all its lines when it is opened again") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/journal";
  constexpr std::size_t kLines = 20'000;
  std::ofstream before(path);
  for (std::size_t line = 0; line < kLines; ++line) before << "a line with the number " << line << "\n";
  before.close();
  auto first = read_journal(path);
  CHECK(first.lines.size() == kLines);
  REQUIRE(first.journal->append("one more"));
  const auto second = read_journal(path);
  CHECK(second.lines.size() == kLines + 1);
  CHECK(second.lines.back() == "one more");
  CHECK(second.journal->size() == first.journal->size());
}

TEST_CASE("half a line is cut off, and does not take the next one with it") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/journal";
  std::ofstream(path) << "whole\nha";
  auto first = read_journal(path);
  CHECK(first.lines == std::vector<std::string>{"whole"});
  REQUIRE(first.journal->append("next"));
  CHECK(read_journal(path).lines == std::vector<std::string>{"whole", "next"});
}

TEST_CASE("a journal that is written anew has these lines alone") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/journal";
  auto journal = read_journal(path).journal;
  REQUIRE(journal->append("old"));
  REQUIRE(journal->replace({"new", "newer"}));
  REQUIRE(journal->append("newest"));
  CHECK(read_journal(path).lines == std::vector<std::string>{"new", "newer", "newest"});
}

TEST_CASE("a journal whose line never ends is refused, as is one that is a link") {
  const TemporaryDirectory directory;
  const auto take = [](std::string_view) -> Result<void> { return {}; };
  std::ofstream(directory.path() + "/long") << std::string(std::size_t{3} << 20, 'x');
  const auto opened = Journal::open(directory.path() + "/long", take);
  REQUIRE(!opened);
  CHECK(opened.error().why == "it has a line of more than 1 MiB");
  std::filesystem::create_symlink(directory.path() + "/long", directory.path() + "/link");
  CHECK(!Journal::open(directory.path() + "/link", take));
}
