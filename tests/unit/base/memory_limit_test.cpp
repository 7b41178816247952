#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
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
  /// The file of process 7's group, without the root.
  [[nodiscard]] std::string oom_file() const {
    const auto groups = farport::memory_groups_of(7, path_);
    const std::string file = groups.empty() ? "" : groups.front().kills.path;
    return file.substr(std::min(path_.size(), file.size()));
  }
  /// The number in that file.
  [[nodiscard]] std::optional<std::uint64_t> kills() const {
    const auto groups = farport::memory_groups_of(7, path_);
    return groups.empty() ? std::nullopt : farport::oom_kills(groups.front());
  }
  [[nodiscard]] std::string path(const std::string& file) const { return path_ + file; }

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

TEST_CASE("how often the kernel has killed for lack of memory is in the group's file", "[base]") {
  const Root root;
  CHECK(root.oom_file().empty());
  root.put("/proc/7/cgroup", "4:memory:/docker/1\n0::/docker/1\n");
  CHECK(root.oom_file().empty());
  root.put("/sys/fs/cgroup/memory/docker/1/memory.oom_control",
           "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
  CHECK(root.oom_file() == "/sys/fs/cgroup/memory/docker/1/memory.oom_control");
  CHECK(root.kills() == 3);
  root.put("/proc/7/cgroup", "0::/pod/2\n");
  root.put("/sys/fs/cgroup/pod/2/memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\n");
  CHECK(root.kills() == 1);
  // Outside of what this process sees.
  root.put("/proc/7/cgroup", "0::/../pod/2\n");
  CHECK(root.oom_file().empty());
  CHECK(!root.kills());
}

TEST_CASE("how much memory a group uses is without what can be given back", "[base]") {
  const Root root;
  root.put("/proc/7/cgroup", "0::/pod/2\n");
  root.put("/sys/fs/cgroup/pod/2/memory.events", "oom_kill 0\n");
  root.put("/sys/fs/cgroup/pod/2/memory.current", "1000\n");
  root.put("/sys/fs/cgroup/pod/2/memory.stat", "anon 5\ninactive_file 300\nactive_file 1\n");
  const auto use = [&root] {
    return farport::memory_use(farport::memory_groups_of(7, root.path("")).front());
  };
  CHECK(!use());
  root.put("/sys/fs/cgroup/pod/2/memory.max", "max\n");
  CHECK(!use());
  root.put("/sys/fs/cgroup/pod/2/memory.max", "2000\n");
  REQUIRE(use());
  CHECK(use()->used == 700);
  CHECK(use()->limit == 2000);
  CHECK(use()->room == 1301);
  root.put("/sys/fs/cgroup/pod/2/memory.stat", "inactive_file 3000\n");
  CHECK(use()->used == 0);
  CHECK(use()->room == 2000);
  CHECK(farport::memory_groups_of(7, root.path("")).size() == 2);
}

TEST_CASE("a file of a control group that is open is read again and again", "[base]") {
  const Root root;
  root.put("/memory.max", "20\n");
  farport::ControlGroupFile file{root.path("/nothing")};
  CHECK(file.text().empty());
  file.open = farport::UniqueFd(::open(root.path("/memory.max").c_str(), O_RDONLY | O_CLOEXEC));
  CHECK(file.text() == "20\n");
  root.put("/memory.max", "max\n");
  CHECK(file.text() == "max\n");
}

TEST_CASE("a container without groups of others sees its own as the root", "[base]") {
  const Root root;
  root.put("/proc/7/cgroup", "4:memory:/kubepods/pod1/2\n");
  root.put("/proc/self/cgroup", "4:memory:/kubepods/pod1/3\n");
  root.put("/sys/fs/cgroup/memory/memory.oom_control", "oom_kill 0\n");
  root.put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "10\n");
  root.put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "20\n");
  CHECK(farport::memory_groups_of(7, root.path("")).empty());
  root.put("/proc/self/cgroup", "4:memory:/kubepods/pod1/2\n");
  const auto groups = farport::memory_groups_of(7, root.path(""));
  REQUIRE(groups.size() == 1);
  CHECK(farport::memory_use(groups.front())->used == 10);
}
