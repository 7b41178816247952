#include "base/tar.hpp"

#include <algorithm>
#include <map>

#include <catch2/catch.hpp>

#include "tests/unit/archived.hpp"

using namespace farport;
using farport::test::archived;
using farport::test::kArchiveEnd;

namespace {

/// Keeps files in memory.
class Kept final : public TarFiles {
 public:
  std::map<std::string, std::string> files;
  int ended = 0;

 private:
  Result<void> begin(const std::string& name, std::uint64_t) override {
    current_ = name;
    files[name];
    return {};
  }
  Result<void> append(std::span<const std::byte> bytes) override {
    files[current_].append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return {};
  }
  Result<void> end() override {
    ++ended;
    return {};
  }
  std::string current_;
};

/// Takes an archive apart in pieces of this size.
Result<void> take_apart(const std::string& archive, Kept& into, std::size_t piece,
                        std::uint64_t most = 10'000) {
  TarReader reader(into, most);
  for (std::size_t at = 0; at < archive.size(); at += piece) {
    const auto bytes = std::as_bytes(std::span(archive)).subspan(at, std::min(piece, archive.size() - at));
    const Result<void> taken = reader.take(bytes);
    if (!taken) return taken;
  }
  return reader.finish();
}

}  // namespace

TEST_CASE("an archive comes apart as it was put together, however it comes", "[base]") {
  const std::string large(1024, 'x');
  const std::string archive =
      archived("a.so", "abc") + archived("empty.dll", "") + archived("b.so", large) + kArchiveEnd;
  for (const std::size_t piece : {std::size_t{1}, std::size_t{511}, archive.size()}) {
    Kept kept;
    REQUIRE(take_apart(archive, kept, piece));
    CHECK(kept.files ==
          std::map<std::string, std::string>{{"a.so", "abc"}, {"empty.dll", ""}, {"b.so", large}});
    CHECK(kept.ended == 3);
  }
}

TEST_CASE("an archive that ends early is no whole one", "[base]") {
  const std::string whole = archived("a.so", "abc") + kArchiveEnd;
  Kept kept;
  CHECK_FALSE(take_apart(whole.substr(0, 513), kept, 100));
  CHECK_FALSE(take_apart(whole.substr(0, kTarBlock * 2), kept, 100));
  CHECK_FALSE(take_apart("", kept, 100));
}

TEST_CASE("an archive names no files but its own", "[base]") {
  for (const char* name : {"../a.so", "/etc/passwd", "a/b.so", ".hidden", "-rf", "a b.so", "a\nb", ""}) {
    CAPTURE(name);
    CHECK_FALSE(is_tar_name(name));
    Kept kept;
    CHECK_FALSE(take_apart(archived(name, "abc") + kArchiveEnd, kept, kTarBlock));
    CHECK(kept.files.empty());
  }
  CHECK_FALSE(is_tar_name(std::string(kMaxTarName + 1, 'a')));
  CHECK(is_tar_name(std::string(kMaxTarName, 'a')));
}

TEST_CASE("what is no archive of plain files is refused", "[base]") {
  Kept kept;
  CHECK_FALSE(take_apart(std::string(kTarBlock, 'x'), kept, kTarBlock));
  std::string link = archived("a.so", "");
  link[156] = '2';
  CHECK_FALSE(take_apart(link + kArchiveEnd, kept, kTarBlock));
  std::string damaged = archived("a.so", "abc");
  damaged[0] = 'b';
  CHECK_FALSE(take_apart(damaged + kArchiveEnd, kept, kTarBlock));
  // Larger than what may come, alone or together.
  CHECK_FALSE(take_apart(archived("a.so", "abc") + kArchiveEnd, kept, kTarBlock, 2));
  CHECK_FALSE(
      take_apart(archived("a.so", "abc") + archived("b.so", "abc") + kArchiveEnd, kept, kTarBlock, 5));
}
