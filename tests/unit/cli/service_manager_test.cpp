// What a service manager is told, and the sockets that it passes.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "cli/commands/serve.hpp"
#include "transport/race.hpp"

namespace farport::cli {
namespace {

using Catch::StartsWith;

/// A manager that listens where $NOTIFY_SOCKET says.
class Manager {
 public:
  explicit Manager(bool abstract = false) {
    std::string name = (std::filesystem::temp_directory_path() / "farport-notify-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    directory_ = name;
    name = abstract ? "@" + name : name + "/notify";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name.copy(address.sun_path, sizeof address.sun_path - 1);
    if (abstract) address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    REQUIRE(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0);
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;
  ~Manager() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  /// The next thing that it has been told; empty where there is nothing.
  [[nodiscard]] std::string told() const {
    std::array<char, 256> text{};
    const ssize_t size = ::recv(socket_.get(), text.data(), text.size(), MSG_DONTWAIT);
    return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : std::string();
  }

 private:
  UniqueFd socket_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  std::string directory_;
};

TEST_CASE("a service manager is told of the start, reloads and the end", "[cli]") {
  const bool abstract = GENERATE(false, true);
  const Manager manager(abstract);
  const ServiceManager service;
  CHECK(std::getenv("NOTIFY_SOCKET") == nullptr);
  service.ready();
  CHECK(manager.told() == "READY=1");
  service.reloading();
  CHECK_THAT(manager.told(), StartsWith("RELOADING=1\nMONOTONIC_USEC="));
  service.stopping();
  CHECK(manager.told() == "STOPPING=1");
  CHECK(manager.told().empty());
}

TEST_CASE("a watchdog hears from the loop for as long as it goes round", "[cli]") {
  const Manager manager;
  ::setenv("WATCHDOG_USEC", "20000", 1);
  const ServiceManager service;
  transport::Loop loop;
  loop.run([](transport::Loop& on, const ServiceManager& of) -> transport::Task<void> {
    co_await with_deadline(on, of.stay_alive(on), transport::Milliseconds(100));
  }(loop, service));
  CHECK(manager.told() == "WATCHDOG=1");
  CHECK(manager.told() == "WATCHDOG=1");
}

TEST_CASE("a watchdog of another process is not ours", "[cli]") {
  const Manager manager;
  ::setenv("WATCHDOG_USEC", "20000", 1);
  ::setenv("WATCHDOG_PID", "1", 1);
  const ServiceManager service;
  transport::Loop loop;
  loop.run(service.stay_alive(loop));
  CHECK(manager.told().empty());
}

TEST_CASE("without a service manager nothing is said", "[cli]") {
  const std::string name =
      GENERATE(as<std::string>{}, "", "relative", "@", "/nowhere/at/all", std::string(200, '/'));
  if (!name.empty()) ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  const ServiceManager service;
  service.ready();
  service.stopping();
  transport::Loop loop;
  loop.run(service.stay_alive(loop));
}

TEST_CASE("sockets that nobody has passed are an error", "[cli]") {
  const std::string count = GENERATE("", "0", "-1", "1x", "100000");
  ::setenv("LISTEN_FDS", count.c_str(), 1);
  CHECK_FALSE(inherited_sockets());
  CHECK(std::getenv("LISTEN_FDS") == nullptr);
}

TEST_CASE("sockets that are passed to another process are not ours", "[cli]") {
  ::setenv("LISTEN_FDS", "1", 1);
  ::setenv("LISTEN_PID", "1", 1);
  CHECK_FALSE(inherited_sockets());
}

}  // namespace
}  // namespace farport::cli
