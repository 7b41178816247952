#include "router/agent/dumps/dump_directory.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace farport::router {
namespace {

/// A directory that goes with it.
class Temporary {
 public:
  Temporary() {
    std::string path = "/tmp/farport-test-XXXXXX";
    REQUIRE(::mkdtemp(path.data()) != nullptr);
    path_ = path;
  }
  ~Temporary() { std::filesystem::remove_all(path_); }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] SharedDirectory open() const {
    return {UniqueFd(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), path_, path_};
  }
  [[nodiscard]] bool empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::string path_;
};

TEST_CASE("a dump's directory is made though others remove what they take for abandoned") {
  const Temporary temporary;
  std::atomic<bool> done = false;
  std::thread remover([&] {
    while (!done) std::ignore = remove_abandoned_dumps(temporary.open(), ::geteuid());
  });
  int failed = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto made = DumpDirectory::make(temporary.open(), ::geteuid());
    if (!made ||
        ::access((*made)->path_for_runtime().substr(0, (*made)->path_for_runtime().rfind('/')).c_str(),
                 W_OK) != 0) {
      ++failed;
    }
  }
  done = true;
  remover.join();
  CHECK(failed == 0);
  CHECK(temporary.empty());
}

TEST_CASE("a directory whose maker was killed before it was locked goes once it is old") {
  const Temporary temporary;
  const std::string path = temporary.path() + "/.farport-new-0";
  REQUIRE(::mkdir(path.c_str(), 0700) == 0);
  CHECK(remove_abandoned_dumps(temporary.open(), ::geteuid()).empty());
  const std::array<timespec, 2> long_ago{};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), long_ago.data(), 0) == 0);
  CHECK(remove_abandoned_dumps(temporary.open(), ::geteuid()).size() == 1);
  CHECK(temporary.empty());
}

TEST_CASE("a directory whose new ones inherit its group is one for dumps as well") {
  const Temporary temporary;
  // As the kubelet leaves a volume of a pod with an fsGroup.
  REQUIRE(::chmod(temporary.path().c_str(), 02777) == 0);
  {
    const auto made = DumpDirectory::make(temporary.open(), ::geteuid());
    REQUIRE(made);
    CHECK_FALSE(temporary.empty());
    // Held by its lock.
    CHECK(remove_abandoned_dumps(temporary.open(), ::geteuid()).empty());
  }
  CHECK(temporary.empty());
  REQUIRE(::mkdir((temporary.path() + "/.farport-dump-old").c_str(), 0700) == 0);
  CHECK(remove_abandoned_dumps(temporary.open(), ::geteuid()).size() == 1);
  CHECK(temporary.empty());
}

}  // namespace
}  // namespace farport::router
