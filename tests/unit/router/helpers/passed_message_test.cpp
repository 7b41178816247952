#include "router/helpers/passed_message.hpp"

#include <array>
#include <cerrno>
#include <string>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>

using namespace farport;
using namespace farport::router;

TEST_CASE("a message arrives with its descriptors", "[helpers]") {
  auto sockets = make_socket_pair(SOCK_SEQPACKET);
  REQUIRE(sockets);
  const std::size_t count = GENERATE(0U, 1U, 4U);
  const std::vector<int> descriptors(count, STDERR_FILENO);
  REQUIRE(send_passed(sockets->theirs.get(), "hello", descriptors) == 0);
  std::array<char, 16> buffer{};
  const PassedMessage got = receive_passed(sockets->ours.get(), buffer);
  CHECK(std::string(buffer.data(), static_cast<std::size_t>(got.bytes)) == "hello");
  REQUIRE(got.descriptors.size() == count);
  for (const UniqueFd& each : got.descriptors) CHECK(::fcntl(each.get(), F_GETFD) == FD_CLOEXEC);
}

TEST_CASE("more descriptors than a message may have are not sent", "[helpers]") {
  const auto sockets = make_socket_pair(SOCK_SEQPACKET);
  REQUIRE(sockets);
  CHECK(send_passed(sockets->theirs.get(), "hello", std::vector<int>(kMaxPassed + 1, STDERR_FILENO)) ==
        EINVAL);
}

TEST_CASE("a message that is cut is none", "[helpers]") {
  const auto sockets = make_socket_pair(SOCK_SEQPACKET);
  REQUIRE(sockets);
  REQUIRE(send_passed(sockets->theirs.get(), std::string(17, 'x'), {STDERR_FILENO}) == 0);
  std::array<char, 16> buffer{};
  const PassedMessage got = receive_passed(sockets->ours.get(), buffer);
  CHECK(got.bytes < 0);
  CHECK(errno == EMSGSIZE);
  CHECK(got.descriptors.empty());
}

TEST_CASE("the end of the other side is an empty message", "[helpers]") {
  auto sockets = make_socket_pair(SOCK_SEQPACKET);
  REQUIRE(sockets);
  sockets->theirs.reset();
  std::array<char, 16> buffer{};
  CHECK(receive_passed(sockets->ours.get(), buffer).bytes == 0);
}
