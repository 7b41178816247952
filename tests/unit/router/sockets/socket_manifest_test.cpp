// The files that a mirror makes, and what is left of them.
#include "router/sockets/socket_manifest.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>

using namespace farport;
using router::SocketManifest;

namespace {

namespace fs = std::filesystem;

class Directory {
 public:
  Directory() : path_("/tmp/farport-files-XXXXXX") { REQUIRE(::mkdtemp(path_.data()) != nullptr); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string at(const std::string& name) const { return path_ + "/" + name; }
  std::size_t count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }
  /// All of the manifest; it must be the only one.
  std::string manifest() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(path_)) {
      if (entry.path().filename().string().starts_with(".farport-mirror-")) found.push_back(entry.path());
    }
    REQUIRE(found.size() == 1);
    std::ifstream file(found.front());
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

void write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

}  // namespace

TEST_CASE("what is there already is neither taken over nor removed") {
  const Directory directory;
  write(directory.at("notes"), "still wanted");
  {
    auto files = SocketManifest::claim(directory.path(), make_silent_log());
    REQUIRE(files);
    const Result<void> added = (*files)->add(directory.at("notes"));
    REQUIRE(!added);
    CHECK(added.error().message().find("already") != std::string::npos);
    (*files)->remove(directory.at("notes"));
  }
  CHECK(fs::exists(directory.at("notes")));
  CHECK(directory.count() == 1);
}

TEST_CASE("what has taken the place of a file that was made here stays") {
  const Directory directory;
  {
    auto files = SocketManifest::claim(directory.path(), make_silent_log());
    REQUIRE(files);
    for (const char* name : {"one", "two", "three"}) {
      REQUIRE((*files)->add(directory.at(name)));
      write(directory.at(name), "ours");
      (*files)->made(directory.at(name));
    }
    for (const char* name : {"one", "two"}) {
      write(directory.at("new"), "another's");
      fs::rename(directory.at("new"), directory.at(name));
    }
    (*files)->remove(directory.at("one"));
  }
  CHECK(fs::exists(directory.at("one")));
  CHECK(fs::exists(directory.at("two")));
  CHECK(!fs::exists(directory.at("three")));
  CHECK(directory.count() == 2);
}

TEST_CASE("a manifest stays small and right however many sockets come and go") {
  const Directory directory;
  auto files = SocketManifest::claim(directory.path(), make_silent_log());
  REQUIRE(files);
  REQUIRE((*files)->add(directory.at("stays")));
  std::size_t most = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string path = directory.at("socket-" + std::to_string(i));
    REQUIRE((*files)->add(path));
    const std::string manifest = directory.manifest();
    CHECK(manifest.find(path + "\n") != std::string::npos);
    most = std::max(most, manifest.size());
    (*files)->remove(path);
  }
  CHECK(most < 300 * directory.at("socket-1000").size());
  CHECK(directory.manifest().find(directory.at("stays") + "\n") != std::string::npos);
  files->reset();
  CHECK(directory.count() == 0);
}
