// What is found in a directory that other users may write to.
#include "router/agent/runtimes/socket_scan.hpp"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "base/unique_fd.hpp"
#include "router/sockets/socket_manifest.hpp"

using namespace farport;
using router::ScanResult;
using router::SocketScan;

namespace {

namespace fs = std::filesystem;

std::string name_of(int pid) {
  return "dotnet-diagnostic-" + std::to_string(pid) + "-1-socket";
}

class Directory {
 public:
  Directory() : path_("/tmp/farport-scan-XXXXXX") { REQUIRE(::mkdtemp(path_.data()) != nullptr); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  std::string at(const std::string& name) const { return path_ + "/" + name; }
  /// A socket on which nobody listens.
  std::string socket(int pid) const {
    const std::string path = at(name_of(pid));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM, 0));
    REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    return path;
  }
  SocketScan scan(std::size_t share) const {
    SocketScan scan;
    scan.search = {path_};
    scan.shares = {::geteuid(), share, share};
    return scan;
  }

 private:
  std::string path_;
};

std::vector<std::string> paths_of(const ScanResult& result) {
  std::vector<std::string> paths;
  for (const router::FoundSocket& each : result.sockets) paths.push_back(each.path);
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// A manifest as a mirror writes it.
UniqueFd write_manifest(const std::string& path, const std::string& text, bool locked) {
  std::ofstream(path) << text;
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (locked) REQUIRE(::flock(fd.get(), LOCK_EX | LOCK_NB) == 0);
  return fd;
}

}  // namespace

TEST_CASE("of a user's sockets no more than the share are found: listed ones, then the newest") {
  const Directory directory;
  const std::string oldest = directory.socket(1);
  for (int pid = 2; pid < 100; ++pid) directory.socket(pid);
  // File systems' clocks tick every few milliseconds.
  ::usleep(50'000);
  const std::string newest = directory.socket(100);
  SocketScan scan = directory.scan(2);
  scan.listed.insert(oldest);
  const ScanResult result = router::scan_sockets(scan);
  CHECK(result.complete);
  CHECK(paths_of(result) == std::vector{oldest, newest});
  REQUIRE(result.left_out.size() == 1);
  CHECK(result.left_out.at(::geteuid()) == 98);
}

TEST_CASE("a file that is named like a socket but is not one is reported a few times") {
  const Directory directory;
  for (int pid = 1; pid <= 200; ++pid) {
    if (pid % 2 == 0) {
      REQUIRE(::mkfifo(directory.at(name_of(pid)).c_str(), 0666) == 0);
    } else {
      fs::create_symlink("/dev/zero", directory.at(name_of(pid)));
    }
  }
  const std::string socket = directory.socket(1000);
  const ScanResult result = router::scan_sockets(directory.scan(10));
  CHECK(paths_of(result) == std::vector{socket});
  CHECK(result.problems.size() == 16);
}

TEST_CASE("a living mirror's sockets are left out, and nobody else's") {
  const Directory directory;
  directory.socket(1);
  const std::string other = directory.socket(2);
  // In another container the directory has another path.
  const auto alive =
      write_manifest(directory.at(".farport-mirror-7-0"), "/elsewhere/" + name_of(1) + "\n", true);
  const auto dead = write_manifest(directory.at(".farport-mirror-8-0"), other + "\n", false);
  CHECK(paths_of(router::scan_sockets(directory.scan(10))) == std::vector{other});
}

TEST_CASE("manifests are read up to a limit, whatever they are") {
  const Directory directory;
  const std::string socket = directory.socket(1);
  // No lines at all, a line too late, a pipe, a link.
  const auto zeros = write_manifest(directory.at(".farport-mirror-1-0"), std::string(100'000, '\0'), true);
  const auto large =
      write_manifest(directory.at(".farport-mirror-2-0"), std::string(9'000'000, '\n') + socket + "\n", true);
  REQUIRE(::mkfifo(directory.at(".farport-mirror-3-0").c_str(), 0600) == 0);
  fs::create_symlink("/dev/zero", directory.at(".farport-mirror-4-0"));
  CHECK(paths_of(router::scan_sockets(directory.scan(10))) == std::vector{socket});
}

TEST_CASE("a socket that is configured is found besides, whatever there is in the directories") {
  const Directory directory;
  for (int pid = 1; pid < 20; ++pid) directory.socket(pid);
  const std::string named = directory.socket(100);
  for (int pid = 200; pid < 210; ++pid) directory.socket(pid);
  SocketScan scan = directory.scan(3);
  scan.named = {{"orders", named}, {"gone", directory.at("gone")}};
  const ScanResult result = router::scan_sockets(scan);
  REQUIRE(result.sockets.size() == 4);
  CHECK(result.sockets.front().path == named);
  CHECK(result.sockets.front().name == "orders");
  CHECK(result.problems.empty());
}

TEST_CASE("a directory that isn't there is told of") {
  const Directory directory;
  SocketScan scan = directory.scan(3);
  scan.search = {directory.at("missing")};
  const ScanResult result = router::scan_sockets(scan);
  CHECK(result.complete);
  REQUIRE(result.problems.size() == 1);
  CHECK(result.problems.front().about == directory.at("missing"));
}
