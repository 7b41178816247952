// Streams to test with: connected pairs, and what a test usually does with them.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include <sys/socket.h>

#include "transport/fd_stream.hpp"
#include "transport/http2/stream.hpp"
#include "transport/party.hpp"
#include "transport/task_set.hpp"
#include "transport/timer.hpp"

namespace farport::test {

using transport::FdStream;
using transport::Io;
using transport::IoStatus;
using transport::Loop;
using transport::Stream;
using transport::Task;

using StreamPair = std::pair<std::unique_ptr<FdStream>, std::unique_ptr<FdStream>>;

/// Two connected Unix sockets.
inline StreamPair make_pair(Loop& loop) {
  int fds[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0) std::abort();
  return {std::make_unique<FdStream>(loop, UniqueFd(fds[0]), "left"),
          std::make_unique<FdStream>(loop, UniqueFd(fds[1]), "right")};
}

/// One that may take what it likes.
inline transport::Party a_party(Loop& loop) {
  struct Own {
    explicit Own(Loop& loop) : all(loop, std::chrono::seconds(1), std::uint64_t{1} << 30) {}
    transport::Parties all;
    transport::Party one = all.party("tests");
  };
  const auto own = std::make_shared<Own>(loop);
  return {{own, &own->one.time()}, {own, own->one.memory().get()}};
}

inline std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// Everything up to the end of the stream. `last` tells how it ended.
inline Task<std::string> read_all(Stream& stream, IoStatus* last = nullptr) {
  std::string all;
  std::string part(5000, '\0');
  for (;;) {
    const Io io = co_await stream.read(std::as_writable_bytes(std::span(part)));
    if (io.status != IoStatus::ok) {
      if (last != nullptr) *last = io.status;
      co_return all;
    }
    all.append(part, 0, io.bytes);
  }
}

inline Task<std::string> read_some(Stream& stream, std::size_t size) {
  std::string part(size, '\0');
  const Io io = co_await stream.read_exactly(std::as_writable_bytes(std::span(part)));
  part.resize(io.bytes);
  co_return part;
}

inline Task<IoStatus> write_all(Stream& stream, std::string text, bool finish) {
  const IoStatus written = co_await stream.write(bytes_of(text));
  if (written != IoStatus::ok || !finish) co_return written;
  const IoStatus finished = co_await stream.finish();
  co_return finished;
}

/// Writes in buffers, as a relay does: of all sizes, from full ones to single bytes. Then ends.
inline Task<IoStatus> write_in_buffers(transport::BufferPool& buffers, Stream& stream, std::string text) {
  constexpr std::size_t kSizes = 70'000;
  for (std::size_t at = 0, size = 1; at < text.size(); at += size, size = size * 11 % kSizes + 1) {
    transport::Buffer buffer = buffers.take();
    size = std::min({size, text.size() - at, buffer.space().size()});
    std::memcpy(buffer.space().data(), text.data() + at, size);
    const IoStatus written = co_await stream.write(buffer, size);
    if (written != IoStatus::ok) co_return written;
  }
  const IoStatus finished = co_await stream.finish();
  co_return finished;
}

/// Sends a whole answer of plain text: head and body, then ends this direction.
inline Task<void> respond(transport::Http2Stream& request, int status, std::string body) {
  // No initializer_list: GCC 12 destroys its elements twice in a coroutine.
  transport::HeaderFields fields;
  fields.emplace_back("content-type", "text/plain");
  fields.emplace_back("content-length", std::to_string(body.size()));
  request.respond(status, fields, true);
  std::ignore = co_await write_all(request, std::move(body), true);
}

/// `size` bytes that differ from place to place.
inline std::string pattern(std::size_t size) {
  std::string text(size, '\0');
  std::uint32_t state = 12345;
  for (char& c : text) {
    state = state * 1664525 + 1013904223;
    c = static_cast<char>(state >> 24);
  }
  return text;
}

}  // namespace farport::test
