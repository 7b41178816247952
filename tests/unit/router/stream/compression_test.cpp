#include <catch2/catch.hpp>

#include "router/stream/compressing_stream.hpp"
#include "tests/unit/streams.hpp"

using namespace farport;
using namespace farport::router;
using namespace farport::test;
using namespace std::chrono_literals;
using Clock = CompressionPolicy::Clock;

namespace {

/// Compresses well, but not to nothing.
std::string prose(std::size_t size) {
  std::string text;
  for (int number = 0; text.size() < size; ++number)
    text += "event " + std::to_string(number) + " happened\n";
  text.resize(size);
  return text;
}

Task<void> send(Stream& to, std::string text) {
  transport::BufferPool buffers;
  const IoStatus status = co_await write_in_buffers(buffers, to, std::move(text));
  CHECK(status == IoStatus::ok);
}

/// What is on the wire of such a write, and what comes out at the other end.
struct Carried {
  std::string wire;
  std::string read;
  IoStatus last = IoStatus::ok;
};

Task<void> decode(Loop& loop, std::string wire, std::string& into, IoStatus& last) {
  auto [left, right] = make_pair(loop);
  transport::TaskSet tasks(loop);
  tasks.spawn([](Stream& to, std::string text) -> Task<void> {
    std::ignore = co_await write_all(to, std::move(text), true);
  }(*left, std::move(wire)));
  DecompressingStream decompressing(*right);
  into = co_await read_all(decompressing, &last);
}

Carried carry(const std::string& text, Compression mode, std::size_t most_compressors = 1) {
  Carried carried;
  Loop loop;
  CompressorLimit limit(most_compressors);
  auto scenario = [&]() -> Task<void> {
    auto [left, right] = make_pair(loop);
    CompressingStream compressing(*left, mode, limit);
    transport::TaskSet tasks(loop);
    tasks.spawn(send(compressing, text));
    carried.wire = co_await read_all(*right);
    co_await decode(loop, carried.wire, carried.read, carried.last);
  };
  loop.run(scenario());
  return carried;
}

/// What a zstd of its own makes of it.
std::string unzstd(std::string_view wire) {
  std::string text;
  std::string part(100'000, '\0');
  ZstdDecompressor decompressor;
  auto in = std::as_bytes(std::span(wire));
  while (!in.empty()) {
    const auto step = decompressor.step(in, std::as_writable_bytes(std::span(part)));
    REQUIRE(step);
    in = in.subspan(step->taken);
    text.append(part, 0, step->made);
  }
  return text;
}

}  // namespace

TEST_CASE("what is compressed is the same at the other end, and any zstd reads it") {
  const auto mode = GENERATE(Compression::automatic, Compression::always);
  const std::string text = GENERATE(std::string(), std::string("x"), prose(1'000'000), pattern(1'000'000),
                                    prose(100'000) + pattern(500'000) + prose(300'000));
  const Carried carried = carry(text, mode);
  CHECK(carried.last == IoStatus::end);
  CHECK((carried.read == text));
  CHECK((unzstd(carried.wire) == text));
}

TEST_CASE("prose gets smaller where it is always compressed, and hardly larger where it need not be") {
  const std::string text = prose(2'000'000);
  CHECK(carry(text, Compression::always).wire.size() < text.size() / 4);
  // Whether something waits is the machine's business here; the policy's own tests have clocks of theirs.
  CHECK(carry(text, Compression::automatic).wire.size() < text.size() + text.size() / 500);
}

TEST_CASE("what finds no place for a compressor is sent as it is, and any zstd reads it") {
  const std::string text = prose(300'000);
  const Carried carried = carry(text, Compression::always, 0);
  CHECK(carried.wire.size() > text.size());
  CHECK((carried.read == text));
  CHECK((unzstd(carried.wire) == text));
}

TEST_CASE("a place is free again when its compressor ends") {
  CHECK(CompressorLimit::most_beside(1 << 20) == 1);
  CHECK(CompressorLimit::most_beside(24 << 20) == 5);
  CompressorLimit limit(1);
  {
    const CompressorLimit::Place place(limit);
    CHECK(limit.reached());
  }
  CHECK_FALSE(limit.reached());
}

TEST_CASE("a body that is cut off or no zstd is an error") {
  const std::string whole = carry(prose(300'000), GENERATE(Compression::automatic, Compression::always)).wire;
  std::string wire = whole;
  SECTION("in a header") {
    wire.resize(5);
  }
  SECTION("in a frame") {
    wire.resize(whole.size() / 2);
  }
  SECTION("something else") {
    wire = "HTTP/1.1 200 OK\r\n\r\n";
  }
  SECTION("something else later") {
    wire += std::string(20, '\x17');
  }
  Loop loop;
  std::string read;
  IoStatus last = IoStatus::ok;
  loop.run(decode(loop, wire, read, last));
  CHECK(last == IoStatus::failed);
}

TEST_CASE("formats of before the RFC are no zstd, in whatever pieces they come") {
  // One of version 0.7, with a window of 64 MiB.
  const std::string old("\x27\xb5\x2f\xfd\x00\x80\x00\x00some", 12);
  const std::size_t piece = GENERATE(1, 3, 4, 12);
  std::string part(100, '\0');
  ZstdDecompressor decompressor;
  bool refused = false;
  for (std::size_t at = 0; at < old.size() && !refused;) {
    const std::string fed = old.substr(at, piece);
    const auto step =
        decompressor.step(std::as_bytes(std::span(fed)), std::as_writable_bytes(std::span(part)));
    refused = !step;
    if (step) at += step->taken;
  }
  CHECK(refused);
}

TEST_CASE("a frame that is to be skipped is, also an empty one at the end") {
  const std::string empty("\x50\x2a\x4d\x18\0\0\0\0", 8);
  const std::string skipped = std::string("\x5f\x2a\x4d\x18\x04\0\0\0", 8) + "more";
  const std::string text = prose(1000);
  const std::string wire = carry(text, Compression::always).wire;
  Loop loop;
  std::string read;
  IoStatus last = IoStatus::ok;
  loop.run(decode(loop, empty + wire + skipped + empty, read, last));
  CHECK(read == text);
  CHECK(last == IoStatus::end);
  read.clear();
  loop.run(decode(loop, wire + empty.substr(0, 7), read, last));
  CHECK(last == IoStatus::failed);
}

TEST_CASE("only a network that is waited for is worth compressing for") {
  CompressionPolicy choice(Compression::automatic);
  auto now = Clock::time_point{} + 1h;
  const auto send = [&](std::size_t bytes, Clock::duration waits, Clock::duration idles, int times) {
    for (; times > 0; --times) {
      choice.sent(bytes, now, now + waits);
      now += waits + idles;
    }
  };
  CHECK(!choice.compress());
  SECTION("a fast one is not") {
    send(65'000, 60us, 0us, 10'000);
    CHECK(!choice.compress());
  }
  SECTION("one with little to carry is not") {
    send(1'000, 1ms, 20ms, 1'000);
    CHECK(!choice.compress());
  }
  SECTION("a slow one is, until it keeps up again") {
    send(65'000, 26ms, 0us, 10);
    CHECK(choice.compress());
    CHECK(choice.level() == 7);
    send(10'000, 1ms, 20ms, 200);
    CHECK(!choice.compress());
  }
}

TEST_CASE("what doesn't get smaller is left alone for longer and longer") {
  CompressionPolicy choice(Compression::automatic);
  auto now = Clock::time_point{} + 1h;
  std::size_t compressed = 0;
  std::size_t all = 0;
  for (int piece = 0; piece < 4'000; ++piece, now += 26ms, all += 65'000) {
    if (choice.compress()) {
      choice.compressed(65'000, 65'020);
      compressed += 65'000;
    } else {
      choice.plain(65'000);
    }
    choice.sent(65'000, now, now + 26ms);
  }
  CHECK(compressed > 0);
  CHECK(compressed < all / 50);
}
