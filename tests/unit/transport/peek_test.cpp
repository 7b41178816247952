// A stream whose peer is to notice if it isn't heard to its end.
#include <cerrno>

#include <poll.h>

#include <catch2/catch.hpp>

#include "tests/unit/streams.hpp"

using namespace farport::test;
using farport::UniqueFd;

namespace {

/// A stream that peeks, and the other end of its socket.
struct Peeking {
  Loop loop;
  UniqueFd peer;
  std::unique_ptr<FdStream> stream;

  Peeking() {
    int fds[2] = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    peer = UniqueFd(fds[0]);
    stream = std::make_unique<FdStream>(loop, UniqueFd(fds[1]), "peeking");
    stream->reset_unless_finished();
  }
  /// As those do it who wait for room with poll(2).
  [[nodiscard]] bool send(char byte) const {
    pollfd room{peer.get(), POLLOUT, 0};
    return ::poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) != 0 &&
           ::send(peer.get(), &byte, 1, MSG_NOSIGNAL) == 1;
  }
};

}  // namespace

TEST_CASE("a peer that writes a byte at a time is never held up for what has been read") {
  Peeking peeking;
  std::string sent;
  std::string read;
  std::string part(4096, '\0');
  // As many at once as there is room for, or one by one.
  const std::size_t burst = GENERATE(1, 200, 100'000);
  while (sent.size() < 3000) {
    std::size_t size = 0;
    while (size < burst && sent.size() < 3000) {
      const char byte = static_cast<char>(sent.size());
      if (!peeking.send(byte)) break;
      sent += byte;
      ++size;
    }
    REQUIRE(size > 0);
    for (;;) {
      const Io io = peeking.stream->try_read(std::as_writable_bytes(std::span(part)));
      if (io.status != IoStatus::ok) break;
      read.append(part, 0, io.bytes);
    }
    REQUIRE(read == sent);
  }
  // It is still told that something is missing.
  peeking.stream.reset();
  char byte = 0;
  CHECK(::recv(peeking.peer.get(), &byte, 1, 0) == -1);
  CHECK(errno == ECONNRESET);
}
