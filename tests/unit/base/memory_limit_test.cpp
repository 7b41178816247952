#include <filesystem>
#include <fstream>

#include <unistd.h>

#include <catch2/catch.hpp>

#include "base/resources.hpp"

namespace {

namespace fs = std::filesystem;

/// A file system that holds what a test puts into it.
class Root {
 public:
  Root() { fs::create_directories(path_); }
  Root(const Root&) = delete;
  Root& operator=(const Root&) = delete;
  ~Root() { fs::remove_all(path_); }

  void put(const std::string& file, const std::string& text) const {
    const fs::path path = path_ + file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  [[nodiscard]] std::optional<std::uint64_t> limit() const { return farport::memory_limit(path_); }

 private:
  std::string path_ = fs::temp_directory_path() / ("farport-memory-limit-" + std::to_string(::getpid()));
};

}  // namespace

TEST_CASE("without control groups there is no memory limit", "[base]") {
  const Root root;
  CHECK_FALSE(root.limit());
}

TEST_CASE("version 2 of the control groups: the least limit of those around counts", "[base]") {
  const Root root;
  root.put("/proc/self/cgroup", "0::/pod/container\n");
  root.put("/sys/fs/cgroup/pod/container/memory.max", "max\n");
  CHECK_FALSE(root.limit());
  root.put("/sys/fs/cgroup/pod/memory.max", "134217728\n");
  CHECK(root.limit() == 134217728);
  root.put("/sys/fs/cgroup/pod/container/memory.max", "67108864\n");
  CHECK(root.limit() == 67108864);
}

TEST_CASE("a container that sees its own group as the root has its limit there", "[base]") {
  const Root root;
  root.put("/proc/self/cgroup", "0::/\n");
  root.put("/sys/fs/cgroup/memory.max", "67108864\n");
  CHECK(root.limit() == 67108864);
}

TEST_CASE("version 1 of the control groups", "[base]") {
  const Root root;
  root.put("/proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/docker/1\n0::/\n");
  root.put("/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK_FALSE(root.limit());
  root.put("/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "33554432\n");
  CHECK(root.limit() == 33554432);
}

TEST_CASE("a limit that is no number is none", "[base]") {
  const Root root;
  root.put("/proc/self/cgroup", "0::/\nnonsense\n:::::\n");
  root.put("/sys/fs/cgroup/memory.max", "12x\n");
  CHECK_FALSE(root.limit());
}
