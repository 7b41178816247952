#include "router/agent/recorder/recent_blocks.hpp"

#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

#include "tests/unit/nettrace/trace_writer.hpp"
#include "tests/unit/nettrace/transcript.hpp"

using namespace farport;
using namespace std::chrono_literals;
using nettrace::BlockKind;
using router::RecentBlocks;
using router::RecentFile;
using test::Bytes;
using test::FieldWriter;
using test::TraceWriter;
using test::Transcript;
using Lines = std::vector<std::string>;

namespace {

constexpr std::size_t kPlenty = 1 << 20;
constexpr RecentBlocks::Clock::time_point kStart{1h};

/// A definition of Orders' event 10.
FieldWriter definition(std::uint32_t id) {
  const FieldWriter fields = test::definition_4(id, "Orders", 10, "Priced");
  return test::event_block().u8(0xC0).var(0).var(fields.size()).bytes(fields.take());
}

/// A block of one event of kind 1 with this number and stack, and so many bytes.
FieldWriter event(std::uint32_t number, std::uint32_t stack, std::size_t size = 2, bool plain = false) {
  FieldWriter out = test::event_block();
  out.u8(0xFF)
      .var(1)
      .var(number - 1)
      .var(500)
      .var(3)
      .var(600)
      .var(stack)
      .var(2'000)
      .guid(7)
      .guid(8)
      .var(size);
  // Bytes that can't be compressed, or well.
  std::minstd_rand random(number);
  for (std::size_t at = 0; at < size; ++at) out.u8(plain ? 0 : random() >> 8 & 0xFF);
  return out;
}

/// A block with one stack.
FieldWriter stack(std::uint32_t id, std::uint64_t address) {
  return FieldWriter().u32(id).u32(1).u32(8).u64(address);
}

FieldWriter sequence_point(std::uint32_t last_event) {
  return FieldWriter().u64(3'000).u32(1).u64(500).u32(last_event);
}

/// A stream whose parts come at different times.
class Stream {
 public:
  Stream() { writer_.block(BlockKind::metadata, definition(1)); }

  TraceWriter& writer() { return writer_; }
  /// The bytes since the last call.
  Bytes part() {
    const Bytes& all = writer_.bytes();
    Bytes part(all.begin() + static_cast<std::ptrdiff_t>(taken_), all.end());
    taken_ = all.size();
    return part;
  }

 private:
  TraceWriter writer_ = TraceWriter::begun(4);
  std::size_t taken_ = 0;
};

Bytes bytes_of(const RecentBlocks& blocks, RecentBlocks::Clock::time_point since = kStart) {
  std::optional<RecentFile> file = blocks.file(since);
  Bytes all;
  while (file) {
    const Bytes piece = file->next();
    if (piece.empty()) break;
    all.insert(all.end(), piece.begin(), piece.end());
  }
  return all;
}

Lines lines_of(const Bytes& bytes) {
  return test::read_in_pieces(bytes, std::max<std::size_t>(bytes.size(), 1)).lines;
}

std::size_t count(const Lines& lines, std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      lines, [&](const std::string& line) { return line.find(text) != std::string::npos; }));
}

}  // namespace

TEST_CASE("what is kept is a whole file, in whatever pieces it came", "[recorder]") {
  Stream stream;
  stream.writer().block(BlockKind::stacks, stack(1, 0x7F01)).block(BlockKind::events, event(1, 1));
  stream.writer().block(BlockKind::sequence_point, sequence_point(1));
  stream.writer().block(BlockKind::metadata, definition(2)).block(BlockKind::stacks, stack(1, 0x7F02));
  stream.writer().block(BlockKind::events, event(2, 1)).end();
  const Bytes all = stream.part();
  for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{64}, all.size()}) {
    RecentBlocks blocks(kPlenty);
    for (nettrace::BytesView rest = all; !rest.empty();) {
      const auto piece = rest.first(std::min(size, rest.size()));
      REQUIRE(blocks.take(piece, kStart));
      rest = rest.subspan(piece.size());
    }
    const Lines lines = lines_of(bytes_of(blocks));
    CHECK(lines.back() == "end");
    CHECK(count(lines, "dropped") == 0);
    CHECK(count(lines, "definition") == 2);
    CHECK(count(lines, "stack [7f01]") == 1);
    CHECK(count(lines, "stack [7f02]") == 1);
  }
}

TEST_CASE("without the older events the later ones keep their stacks", "[recorder]") {
  Stream stream;
  RecentBlocks blocks(kPlenty);
  auto now = kStart;
  const auto pass = [&] {
    REQUIRE(blocks.take(stream.part(), now));
    now += 10s;
  };
  stream.writer().block(BlockKind::stacks, stack(1, 0x7F01)).block(BlockKind::events, event(1, 1));
  pass();
  stream.writer().block(BlockKind::sequence_point, sequence_point(1));
  stream.writer().block(BlockKind::stacks, stack(1, 0x7F02)).block(BlockKind::events, event(2, 1));
  pass();
  stream.writer().block(BlockKind::stacks, stack(2, 0x7F03)).block(BlockKind::events, event(3, 2));
  pass();
  stream.writer().block(BlockKind::events, event(4, 1));
  pass();
  const Lines lines = lines_of(bytes_of(blocks, kStart + 25s));
  CHECK(lines.back() == "end");
  CHECK(count(lines, "event Orders") == 1);
  CHECK(count(lines, "stack [7f02]") == 1);
  CHECK(count(lines, "dropped") == 0);
  CHECK(count(lines_of(bytes_of(blocks, kStart + 15s)), "event Orders") == 2);
  CHECK(count(lines_of(bytes_of(blocks)), "event Orders") == 4);
  CHECK(blocks.file(kStart + 25s)->begun() == kStart + 30s);
}

TEST_CASE("the oldest events go where memory ends, and the rest is a whole file", "[recorder]") {
  constexpr std::size_t kLimit = 256 * 1024;
  Stream stream;
  RecentBlocks blocks(kLimit);
  for (std::uint32_t number = 1; number <= 400; ++number) {
    if (number % 50 == 0) stream.writer().block(BlockKind::sequence_point, sequence_point(number - 1));
    if (number % 50 == 0 || number == 1) stream.writer().block(BlockKind::stacks, stack(1, 0x7000 + number));
    stream.writer().block(BlockKind::events, event(number, 1, 8000));
    REQUIRE(blocks.take(stream.part(), kStart + number * 1s));
    REQUIRE(blocks.size() <= kLimit);
  }
  const Lines lines = lines_of(bytes_of(blocks));
  CHECK(lines.back() == "end");
  CHECK(count(lines, "dropped") == 0);
  CHECK(count(lines, "#400 ") == 1);
  CHECK(count(lines, "#1 ") == 0);
  CHECK(count(lines, "event Orders") > 20);
  CHECK(!blocks.is_whole());
  CHECK(blocks.dropped_until() > kStart);
  CHECK(blocks.dropped_until() <= *blocks.begun());
  blocks.set_limit(kLimit / 8);
  CHECK(blocks.size() <= kLimit / 8);
}

TEST_CASE("older events do not go where compressing the newest ones makes room", "[recorder]") {
  constexpr std::size_t kLimit = 64 * 1024;
  Stream stream;
  RecentBlocks blocks(kLimit);
  // Each alone takes half of the limit before it is compressed, and hardly anything then.
  for (std::uint32_t number = 1; number <= 20; ++number) {
    stream.writer().block(BlockKind::events, event(number, 0, 30'000, true));
    REQUIRE(blocks.take(stream.part(), kStart + number * 1s));
    REQUIRE(blocks.size() <= kLimit);
  }
  CHECK(blocks.is_whole());
  CHECK(count(lines_of(bytes_of(blocks)), "event Orders") == 20);
}

TEST_CASE("where stacks are left out, they take no memory", "[recorder]") {
  Stream stream;
  RecentBlocks blocks(64 * 1024, RecentBlocks::Stacks::leave_out);
  // More than could be kept.
  for (std::uint32_t id = 1; id < 1000; ++id) stream.writer().block(BlockKind::stacks, stack(id, id));
  stream.writer().block(BlockKind::events, event(1, 0));
  REQUIRE(blocks.take(stream.part(), kStart));
  const Lines lines = lines_of(bytes_of(blocks));
  CHECK(lines.back() == "end");
  CHECK(count(lines, "event Orders") == 1);
  CHECK(blocks.is_whole());
  CHECK(blocks.size_since(kStart) > 0);
  CHECK(blocks.size_since(kStart + 1s) == 0);
}

TEST_CASE("a beginning without an end takes no memory", "[recorder]") {
  RecentBlocks begun(64 * 1024);
  TraceWriter writer = TraceWriter::begun(4);
  for (int objects = 0; objects < 10; ++objects) writer.object("Trace", test::trace_object(), 4);
  const auto taken = begun.take(writer.bytes(), kStart);
  REQUIRE(!taken);
  CHECK(taken.error().message().find("first block") != std::string::npos);
  CHECK(begun.size() < 1024);
}

TEST_CASE("a stream that can't be kept is refused, and what was kept stays", "[recorder]") {
  Stream stream;
  RecentBlocks blocks(64 * 1024);
  stream.writer().block(BlockKind::events, event(1, 0));
  REQUIRE(blocks.take(stream.part(), kStart));
  SECTION("definitions without an end") {
    for (std::uint32_t id = 2; id < 1000; ++id) stream.writer().block(BlockKind::metadata, definition(id));
    const auto taken = blocks.take(stream.part(), kStart);
    REQUIRE(!taken);
    CHECK(taken.error().message().find("definitions") != std::string::npos);
  }
  SECTION("stacks without an end") {
    for (std::uint32_t id = 2; id < 1000; ++id) stream.writer().block(BlockKind::stacks, stack(id, id));
    const auto taken = blocks.take(stream.part(), kStart);
    REQUIRE(!taken);
    CHECK(taken.error().message().find("stacks") != std::string::npos);
  }
  SECTION("a block that is too large") {
    stream.writer().block(BlockKind::events, event(2, 0, 2 << 20));
    CHECK(!blocks.take(stream.part(), kStart));
  }
  SECTION("no block") {
    CHECK(!blocks.take(Bytes(64), kStart));
  }
  CHECK(!blocks.take(Bytes(1), kStart));
  CHECK(blocks.size() <= 64 * 1024);
  CHECK(count(lines_of(bytes_of(blocks)), "event Orders") == 1);
}

TEST_CASE("of format 6 nothing is kept, nor of what is no trace", "[recorder]") {
  RecentBlocks six(kPlenty);
  CHECK(!six.take(TraceWriter::begun(6).bytes(), kStart));
  RecentBlocks other(kPlenty);
  CHECK(!other.take(Bytes(100), kStart));
  CHECK(!other.file(kStart));
  const RecentBlocks none(kPlenty);
  CHECK(!none.file(kStart));
}
