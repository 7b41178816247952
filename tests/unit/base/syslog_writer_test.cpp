#include <array>
#include <cerrno>
#include <filesystem>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "base/unblocked_writer.hpp"

using namespace farport;

namespace {

/// A daemon's socket, which nobody reads unless told to.
class Daemon {
 public:
  Daemon(const std::string& path, int type)
      : path_(path), socket_(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, path.size());
    ::unlink(path.c_str());
    REQUIRE(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    if (type == SOCK_STREAM) REQUIRE(::listen(socket_.get(), 1) == 0);
  }
  ~Daemon() { ::unlink(path_.c_str()); }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  std::string read() const {
    std::array<char, 4096> text{};
    const ssize_t got = ::recv(socket_.get(), text.data(), text.size(), MSG_DONTWAIT);
    return got < 0 ? "" : std::string(text.data(), static_cast<std::size_t>(got));
  }
  std::string accept_and_read() const {
    std::array<char, 4096> text{};
    const UniqueFd peer(::accept(socket_.get(), nullptr, nullptr));
    const ssize_t got = ::read(peer.get(), text.data(), text.size());
    return got < 0 ? "" : std::string(text.data(), static_cast<std::size_t>(got));
  }

 private:
  std::string path_;
  UniqueFd socket_;
};

std::string new_path() {
  return (std::filesystem::temp_directory_path() / ("syslog-" + std::to_string(::getpid()))).string();
}

}  // namespace

TEST_CASE("a line goes to syslog as syslog(3) writes it", "[base]") {
  const std::string path = new_path();
  const Daemon daemon(path, SOCK_DGRAM);
  SyslogWriter writer("farport", path);
  CHECK(writer.write(LOG_AUTHPRIV | LOG_INFO, "a line") == 0);
  CHECK_THAT(daemon.read(),
             Catch::Matches(R"(<86>[A-Z][a-z][a-z] [ \d]\d \d\d:\d\d:\d\d farport\[\d+\]: a line)"));
}

TEST_CASE("a syslog that is a stream gets lines that end with a NUL", "[base]") {
  const std::string path = new_path();
  const Daemon daemon(path, SOCK_STREAM);
  SyslogWriter writer("farport", path);
  CHECK(writer.write(LOG_AUTHPRIV | LOG_INFO, "a line") == 0);
  CHECK(daemon.accept_and_read().ends_with(std::string("a line\0", 7)));
}

TEST_CASE("a syslog that nobody reads loses lines, and holds up nobody", "[base]") {
  const std::string path = new_path();
  const Daemon daemon(path, SOCK_DGRAM);
  SyslogWriter writer("farport", path);
  int error = 0;
  for (int n = 0; n < 100'000 && error == 0; ++n) error = writer.write(LOG_INFO, std::string(8000, 'x'));
  CHECK(error == EAGAIN);
  CHECK(writer.lost() == 1);
  CHECK_FALSE(daemon.read().empty());
  CHECK(writer.write(LOG_INFO, "there is room again") == 0);
}

TEST_CASE("a syslog that is started again gets the next line", "[base]") {
  const std::string path = new_path();
  SyslogWriter writer("farport", path);
  CHECK(writer.write(LOG_INFO, "nobody is there") == ENOENT);
  {
    const Daemon daemon(path, SOCK_DGRAM);
    CHECK(writer.write(LOG_INFO, "first") == 0);
  }
  CHECK(writer.write(LOG_INFO, "it is away") == ENOENT);
  const Daemon daemon(path, SOCK_DGRAM);
  CHECK(writer.write(LOG_INFO, "second") == 0);
  CHECK_THAT(daemon.read(), Catch::EndsWith("second"));
  CHECK(writer.lost() == 2);
}
