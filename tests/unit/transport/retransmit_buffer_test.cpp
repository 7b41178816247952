#include <string>

#include <catch2/catch.hpp>

#include "transport/resumable_stream.hpp"

using namespace farport::transport;

namespace {

struct Write final : WriteOperation {
  void complete() override {}
};

void keep(RetransmitBuffer& kept, std::string text) {
  Write write;
  write.chunk = Chunk{reinterpret_cast<std::byte*>(text.data()), text.size(), false};
  kept.keep(write);
}

/// Sends the next piece, or so much of it.
std::string send(RetransmitBuffer& kept, std::size_t most = 1000) {
  const Chunk chunk = kept.unsent();
  const std::string text(reinterpret_cast<const char*>(chunk.data), std::min(chunk.size, most));
  kept.advance(text.size());
  return text;
}

std::string send_all(RetransmitBuffer& kept) {
  std::string all;
  while (kept.sent() < kept.end()) all += send(kept);
  return all;
}

}  // namespace

TEST_CASE("what was sent comes again from the first byte that is asked for", "[transport]") {
  RetransmitBuffer kept;
  keep(kept, "abc");
  keep(kept, "def");
  CHECK(send(kept, 2) == "ab");
  CHECK(send_all(kept) == "cdef");
  CHECK(kept.unsent().size == 0);
  kept.acknowledge(2);
  for (const std::uint64_t place : {2, 3, 5, 6}) {
    kept.rewind(place);
    CHECK(send_all(kept) == std::string("abcdef").substr(place));
  }
  keep(kept, "ghi");
  CHECK(send_all(kept) == "ghi");
}

TEST_CASE("what has been acknowledged is forgotten, and what has not been sent is not", "[transport]") {
  RetransmitBuffer kept;
  keep(kept, "abc");
  keep(kept, "def");
  const Chunk first = kept.unsent();
  kept.acknowledge(6);
  CHECK(kept.begin() == 0);
  CHECK(kept.unsent().data == first.data);
  CHECK(send(kept) == "abc");
  kept.acknowledge(6);
  CHECK(kept.begin() == 3);
  CHECK(send(kept) == "def");
  kept.acknowledge(6);
  CHECK(kept.begin() == 6);
  // An old word takes nothing back.
  kept.acknowledge(3);
  CHECK(kept.begin() == 6);
}

TEST_CASE("a large buffer is kept as it is, and less is copied", "[transport]") {
  BufferPool pool;
  RetransmitBuffer kept;
  Buffer large = pool.take();
  Buffer small = pool.take();
  Write write;
  write.holder = &large;
  write.chunk = Chunk{large.space().data(), large.space().size(), true};
  const std::byte* const place = large.space().data();
  kept.keep(write);
  CHECK(large.empty());
  CHECK(kept.unsent().data == place);
  kept.advance(kept.unsent().size);
  write.holder = &small;
  write.chunk = Chunk{small.space().data(), 100, true};
  kept.keep(write);
  CHECK_FALSE(small.empty());
  CHECK(kept.unsent().size == 100);
  CHECK(kept.unsent().headroom);
  kept.clear();
  CHECK(kept.unsent().size == 0);
  CHECK(kept.begin() == kept.end());
}

TEST_CASE("what many small pieces take is known", "[transport]") {
  constexpr std::uint64_t kPieces = 1000;
  RetransmitBuffer kept;
  for (std::uint64_t i = 0; i < kPieces; ++i) keep(kept, "x");
  // A list's node, the piece in it, and the allocator's own words.
  CHECK(kept.memory() >= kPieces * 100);
  send_all(kept);
  kept.acknowledge(kPieces);
  CHECK(kept.memory() == 0);
}

// With a search for each piece it would take a quarter of an hour.
TEST_CASE("many small pieces are sent again and acknowledged one by one in no time", "[transport]") {
  constexpr std::uint64_t kPieces = 500'000;
  RetransmitBuffer kept;
  for (std::uint64_t i = 0; i < kPieces; ++i) keep(kept, "x");
  CHECK(send_all(kept).size() == kPieces);
  kept.rewind(0);
  for (std::uint64_t i = 0; i < kPieces; ++i) {
    send(kept);
    kept.acknowledge(i);
  }
  CHECK(kept.begin() == kPieces - 1);
  CHECK(kept.sent() == kept.end());
}
