#include "nettrace/stream_join.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "nettrace/reader.hpp"
#include "tests/unit/nettrace/trace_writer.hpp"
#include "tests/unit/nettrace/transcript.hpp"

using namespace farport;
using nettrace::BlockKind;
using nettrace::BytesView;
using nettrace::NewEvent;
using nettrace::StreamJoin;
using test::Bytes;
using test::FieldWriter;
using test::TraceWriter;
using Lines = std::vector<std::string>;

namespace {

/// A block with a definition of the provider's event 10.
FieldWriter definition(std::uint32_t id, std::string_view provider) {
  const FieldWriter fields = test::definition_4(id, provider, 10, "");
  return test::event_block().u8(0xC0).var(0).var(fields.size()).bytes(fields.take());
}

/// A block of events of this kind with these numbers, of thread 500 as the capturing one, with stack 1.
FieldWriter events(std::uint32_t kind, std::vector<std::uint32_t> numbers, std::uint64_t time) {
  FieldWriter out = test::event_block();
  std::uint32_t last = 0;
  for (const std::uint32_t number : numbers) {
    out.u8(0x9F).var(kind).var(number - last - 1).var(500).var(3).var(600).var(1).var(last == 0 ? time : 5);
    out.guid(last == 0 ? 7 : 9).var(2).u16(0x5555);
    last = number;
  }
  return out;
}

FieldWriter stack(std::uint64_t address) {
  return FieldWriter().u32(1).u32(1).u32(8).u64(address);
}

Bytes first_stream() {
  return TraceWriter::begun(4)
      .block(BlockKind::metadata, definition(1, "Orders"))
      .block(BlockKind::metadata, definition(8, "Prices"))
      .block(BlockKind::stacks, stack(0x7F01))
      .block(BlockKind::events, events(8, {41, 42}, 2'000))
      .end()
      .bytes();
}

TraceWriter second_stream() {
  return TraceWriter::begun(4)
      .block(BlockKind::metadata, definition(1, "Names"))
      .block(BlockKind::stacks, stack(0x7F02))
      .block(BlockKind::events, events(1, {1, 2}, 4'000))
      .block(BlockKind::sequence_point, FieldWriter().u64(5'000).u32(1).u64(500).u32(2))
      .block(BlockKind::stacks, stack(0x7F03))
      .block(BlockKind::events, events(1, {3}, 6'000))
      .end();
}

void append(Bytes& to, const Bytes& more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// Both streams, which come in pieces of `piece` bytes.
Bytes join(BytesView first, BytesView second, std::size_t piece) {
  StreamJoin joined;
  Bytes all;
  for (; !first.empty(); first = first.subspan(std::min(piece, first.size())))
    append(all, joined.take(first.first(std::min(piece, first.size()))).value());
  joined.next_stream();
  for (; !second.empty(); second = second.subspan(std::min(piece, second.size())))
    append(all, joined.take(second.first(std::min(piece, second.size()))).value());
  append(all, joined.end());
  return all;
}

Lines lines_of(const Bytes& bytes) {
  return test::read_in_pieces(bytes, bytes.size()).lines;
}

}  // namespace

TEST_CASE("two streams become one, with kinds and threads of their own", "[nettrace]") {
  const Bytes first = first_stream();
  const Bytes second = second_stream().bytes();
  const Bytes whole = join(first, second, first.size() + second.size());
  for (const std::size_t piece : {std::size_t{1}, std::size_t{13}})
    CHECK(join(first, second, piece) == whole);
  const Lines lines = lines_of(whole);
  const Lines expected{
      "trace of 4711, format 4",
      "definition 1 Orders/10 ",
      "definition 8 Prices/10 ",
      "event Prices/10 #41 thread 4711.600 by 500 processor 3 at 2000 activity 07 00 stack [7f01] payload 2",
      "event Prices/10 #42 thread 4711.600 by 500 processor 3 at 2005 activity 09 00 stack [7f01] payload 2",
      "sequence point at 1000",
      "definition 9 Names/10 ",
      "event Names/10 #1 thread 4711.600 by 1000 processor 3 at 4000 activity 07 00 stack [] payload 2",
      "event Names/10 #2 thread 4711.600 by 1000 processor 3 at 4005 activity 09 00 stack [] payload 2",
      "sequence point at 5000",
      "event Names/10 #3 thread 4711.600 by 1000 processor 3 at 6000 activity 07 00 stack [] payload 2",
      "end"};
  CHECK(lines == expected);
}

TEST_CASE("a second stream that breaks off, or does not come, leaves a whole one", "[nettrace]") {
  const Bytes first = first_stream();
  const Bytes second = second_stream().bytes();
  for (std::size_t size = 0; size < second.size(); size += 7) {
    const Lines lines = lines_of(join(first, BytesView(second).first(size), 50));
    CHECK(lines.back() == "end");
    CHECK(std::ranges::count_if(lines, [](const auto& line) { return line.starts_with("event Prices"); }) ==
          2);
  }
}

TEST_CASE("a third stream has numbers of its own again", "[nettrace]") {
  const Bytes second = second_stream().bytes();
  StreamJoin joined;
  Bytes all = joined.take(first_stream()).value();
  joined.next_stream();
  append(all, joined.take(second).value());
  joined.next_stream();
  SECTION("") {
    append(all, joined.take(second).value());
    append(all, joined.end());
    const Lines lines = lines_of(all);
    CHECK(std::ranges::count(lines, "definition 9 Names/10 ") == 1);
    CHECK(std::ranges::count(lines, "definition 10 Names/10 ") == 1);
    CHECK(std::ranges::count_if(lines, [](const auto& line) {
            return line.starts_with("event Names/10 #1 thread 4711.600 by 1500 ");
          }) == 1);
    CHECK(lines.back() == "end");
  }
  SECTION("where one before it was broken") {
    REQUIRE(!joined.take(Bytes(64)));
    joined.next_stream();
    append(all, joined.take(second).value());
    append(all, joined.end());
    CHECK(std::ranges::count(lines_of(all), "definition 10 Names/10 ") == 1);
  }
}

TEST_CASE("events of a kind of their own can be added", "[nettrace]") {
  StreamJoin joined;
  Bytes all = joined.take(first_stream()).value();
  REQUIRE(joined.add_kind({"Added", 12, 1, 4, 8}));
  for (int blocks = 0; blocks < 2; ++blocks)
    append(all, joined.add_events(std::vector<NewEvent>(100, {Bytes(1000, std::byte{7})})));
  joined.next_stream();
  append(all, joined.take(second_stream().bytes()).value());
  append(all, joined.end());
  const Lines lines = lines_of(all);
  CHECK(std::ranges::count(lines, "definition 9 Added/12 ") == 1);
  CHECK(std::ranges::count(lines, "definition 10 Names/10 ") == 1);
  CHECK(std::ranges::count_if(lines, [](const auto& line) {
          return line.starts_with("event Added/12 #") && line.ends_with(" payload 1000");
        }) == 200);
  CHECK(std::ranges::none_of(lines, [](const auto& line) { return line.starts_with("dropped"); }));
  CHECK(lines.back() == "end");
}

TEST_CASE("events can be added with stacks, threads and times of their own", "[nettrace]") {
  StreamJoin joined;
  Bytes all = joined.take(first_stream()).value();
  CHECK(joined.first_time() == 2'000);
  REQUIRE(joined.add_kind({"Added", 12, 1, 4, 8}));
  joined.add_stacks({{0xA1, 0xA2}, {0xB1}});
  append(all, joined.add_events({{Bytes(2), 1'500, 77, 2}, {Bytes(2), 1'600, 78, 1}}));
  joined.add_stacks({{0xC1}});
  append(all, joined.add_events({{Bytes(2), 1'700, 77, 1}}));
  append(all, joined.end());
  struct Seen {
    std::uint64_t thread;
    std::vector<std::uint64_t> stack;
    bool operator==(const Seen&) const = default;
  };
  struct Added final : nettrace::Handler {
    void on_event(const nettrace::Event& event) override {
      if (event.definition.provider != "Added") return;
      Seen& made = seen.emplace_back(Seen{event.thread.id, {}});
      for (std::size_t at = 0; at < event.stack.size(); ++at) made.stack.push_back(event.stack[at]);
    }
    std::vector<Seen> seen;
  } added;
  nettrace::Reader reader(added);
  REQUIRE(reader.feed(all));
  CHECK(added.seen == std::vector<Seen>{{77, {0xB1}}, {78, {0xA1, 0xA2}}, {77, {0xC1}}});
}

TEST_CASE("what can't be joined is refused", "[nettrace]") {
  StreamJoin joined;
  CHECK(!StreamJoin().take(TraceWriter::begun(6).bytes()));
  CHECK(!StreamJoin().take(Bytes(64)));
  REQUIRE(joined.take(first_stream()));
  joined.next_stream();
  SECTION("another format") {
    CHECK(!joined.take(TraceWriter::begun(6).bytes()));
  }
  SECTION("another process") {
    const FieldWriter other = test::trace_clock().u32(4712).u32(3).u32(1'000'000);
    const auto taken = joined.take(TraceWriter(4).object("Trace", other, 4).bytes());
    REQUIRE(!taken);
    CHECK(taken.error().message().find("process") != std::string::npos);
  }
  SECTION("a kind behind the highest number") {
    TraceWriter second = TraceWriter::begun(4);
    second.block(BlockKind::metadata, definition(0x7FFF'FFFF - 8, "Names"));
    REQUIRE(joined.take(second.bytes()));
    CHECK(!joined.add_kind({"Added", 12, 1, 4, 8}));
  }
  SECTION("a kind with the highest number") {
    TraceWriter second = TraceWriter::begun(4);
    second.block(BlockKind::metadata, definition(0xFFFF'FFFF, "Names"));
    CHECK(!joined.take(second.bytes()));
  }
  SECTION("a definition without a number") {
    TraceWriter second = TraceWriter::begun(4);
    second.block(BlockKind::metadata, test::event_block().u8(0xC0).var(0).var(2).u16(1));
    CHECK(!joined.take(second.bytes()));
  }
}
