// Which processes have a default listen port, by what the kernel says of sockets.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "base/process_stat.hpp"
#include "router/agent/runtimes/process_walk.hpp"
#include "router/agent/runtimes/process_watch.hpp"

using namespace farport;

namespace {

constexpr const char* kTable =
    "Num       RefCount Protocol Flags    Type St Inode Path\n"
    "0000000000000000: 00000002 00000000 00010000 0001 01 17583725 /tmp/dotnet-diagnostic-1-41-socket\n"
    "0000000000000000: 00000003 00000000 00000000 0001 03 17583726 /tmp/dotnet-diagnostic-1-41-socket\n"
    "0000000000000000: 00000002 00000000 00010000 0001 01 17583727 @/abstract\n"
    "0000000000000000: 00000002 00000000 00010000 0001 01 17583728 /a b/dotnet-diagnostic-1-41-socket\n"
    "0000000000000000: 00000002 00000000 00010000 0001 01 17583729\n"
    "0000000000000000: 00000002 00000000 00010000 0001 01 17583730 /tmp/dotnet-diagnostic-2-42-socket\n";

/// A socket that this process's own default port would have.
class OwnPort {
 public:
  OwnPort() {
    char directory[] = "/tmp/farport-ports-XXXXXX";
    REQUIRE(::mkdtemp(directory) != nullptr);
    directory_ = directory;
    path = directory_ + "/dotnet-diagnostic-" + std::to_string(pid_in_own_namespace(::getpid())) + "-" +
           std::to_string(process_stat(::getpid())->start_time) + "-socket";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    socket_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  OwnPort(const OwnPort&) = delete;
  OwnPort& operator=(const OwnPort&) = delete;
  ~OwnPort() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  std::string path;

 private:
  std::string directory_;
  UniqueFd socket_;
};

const router::PortProcess* own_in(const std::vector<router::PortProcess>& found) {
  const auto place =
      std::find_if(found.begin(), found.end(), [](const auto& each) { return each.pid == ::getpid(); });
  return place == found.end() ? nullptr : &*place;
}

/// A process with a thread that has one of .NET's names.
class DotnetLike {
 public:
  DotnetLike() : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_NAME, ".NET Finalizer");
    for (;;) ::pause();
  }
  DotnetLike(const DotnetLike&) = delete;
  DotnetLike& operator=(const DotnetLike&) = delete;
  ~DotnetLike() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  [[nodiscard]] bool is_in(const std::vector<router::DiscoveryProblem>& found) const {
    const std::string name = "the .NET process " + std::to_string(pid_);
    return std::any_of(found.begin(), found.end(), [&](const auto& each) { return each.about == name; });
  }

 private:
  pid_t pid_;
};

}  // namespace

TEST_CASE("a .NET process that comes between two rounds through all is found by a look at new ones") {
  using Extent = router::DotnetProcesses::Extent;
  router::DotnetProcesses processes;
  const router::DotnetProcesses::Served served;
  const DotnetLike first;
  while (!first.is_in(processes.look(served, Extent::all))) ::usleep(1000);
  const DotnetLike second;
  while (!second.is_in(processes.look(served, Extent::new_ones))) ::usleep(1000);
  CHECK(first.is_in(processes.look(served, Extent::new_ones)));
}

TEST_CASE("the paths of wanted names are taken from the kernel's table, each once") {
  router::BoundPaths bound;
  router::add_bound_paths(kTable, {{1, 41}, {3, 43}}, bound);
  REQUIRE(bound.size() == 1);
  CHECK(bound.at({1, 41}) ==
        std::vector<std::string>{"/tmp/dotnet-diagnostic-1-41-socket", "/a b/dotnet-diagnostic-1-41-socket"});
}

TEST_CASE("what is not quite a default port's name is none") {
  const std::string name = router::to_string(router::PortName{7, 99});
  CHECK(name == "dotnet-diagnostic-7-99-socket");
  const auto counts = [](const std::string& path) {
    router::BoundPaths bound;
    router::add_bound_paths("0: 2 0 1 1 1 2 " + path, {{7, 99}}, bound);
    return !bound.empty();
  };
  CHECK(counts("/tmp/" + name));
  CHECK_FALSE(counts("/tmp/" + name + ".old"));
  CHECK_FALSE(counts("/tmp/x" + name));
  CHECK_FALSE(counts("/tmp/dotnet-diagnostic-7-99-9-socket"));
  CHECK_FALSE(counts("/tmp/dotnet-diagnostic-7-socket"));
  CHECK_FALSE(counts("/tmp/dotnet-diagnostic--socket"));
  CHECK_FALSE(counts("/tmp/dotnet-diagnostic-7-99999999999999999999999-socket"));
  CHECK_FALSE(counts("@" + name));
  CHECK_FALSE(counts(""));
}

TEST_CASE("a default port's name tells the process and its start") {
  const auto name = router::port_name("dotnet-diagnostic-12-34-socket");
  REQUIRE(name);
  CHECK(name->pid == 12);
  CHECK(name->start_time == 34);
  for (const char* other : {"", "dotnet-diagnostic-socket", "dotnet-diagnostic--socket",
                            "dotnet-diagnostic-12-socket", "dotnet-diagnostic-dsrouter-12-34-socket",
                            "dotnet-diagnostic-12-34-socket2", "dotnet-diagnostic--12-34-socket"}) {
    CAPTURE(other);
    CHECK_FALSE(router::port_name(other));
  }
}

TEST_CASE("however many sockets have a name, a few paths are kept") {
  router::BoundPaths bound;
  for (int i = 0; i < 100; ++i) {
    router::add_bound_paths("0: 1 2 /" + std::to_string(i) + "/dotnet-diagnostic-7-99-socket\n", {{7, 99}},
                            bound);
  }
  CHECK(bound.at({7, 99}).size() == 16);
}

TEST_CASE("a process with a socket of its name is found, and its socket opened") {
  router::PortProcesses processes;
  CHECK(own_in(processes.look()) == nullptr);
  const OwnPort port;
  const auto found = processes.look();
  const router::PortProcess* own = own_in(found);
  REQUIRE(own != nullptr);
  CHECK(own->paths == std::vector<std::string>{port.path});
  CHECK(own->user == ::geteuid());
  const router::ProcessSockets opened = router::open_sockets_of({*own}, {});
  REQUIRE(opened.sockets.contains(port.path));
  const router::FoundSocket& socket = opened.sockets.at(port.path);
  CHECK(socket.opened->process == ::getpid());
  CHECK(socket.file == router::inspect_socket(port.path).value());
  // The next time it is the same one.
  CHECK(router::open_sockets_of({*own}, opened.sockets).sockets.at(port.path).opened == socket.opened);
}

TEST_CASE("a process that has ended, or whose pid another one has, is left out") {
  router::PortProcess process{::getpid(), 1, ::geteuid(), {"/nowhere"}};
  const router::ProcessSockets other = router::open_sockets_of({process}, {});
  CHECK(other.sockets.empty());
  CHECK(other.problems.empty());
  process.start_time = process_stat(::getpid())->start_time;
  const router::ProcessSockets lost = router::open_sockets_of({process}, {});
  REQUIRE(lost.problems.size() == 1);
  CHECK(lost.problems[0].issue == router::DiscoveryIssue::out_of_reach);
}

TEST_CASE("a link at a socket's path leads nowhere else") {
  const OwnPort port;
  const std::string link = port.path + "-link";
  REQUIRE(::symlink(port.path.c_str(), link.c_str()) == 0);
  const router::PortProcess process{::getpid(), process_stat(::getpid())->start_time, ::geteuid(), {link}};
  CHECK(router::open_sockets_of({process}, {}).sockets.empty());
}
