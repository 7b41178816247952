#include "nettrace/reader.hpp"

#include <catch2/catch.hpp>

#include "nettrace/cursor.hpp"
#include "nettrace/framing.hpp"
#include "tests/unit/nettrace/trace_writer.hpp"
#include "tests/unit/nettrace/transcript.hpp"

using namespace farport::nettrace;
using farport::test::Bytes;
using farport::test::definition_4;
using farport::test::definition_6;
using farport::test::event_block;
using farport::test::FieldWriter;
using farport::test::kSyncTicks;
using farport::test::outcome_of;
using farport::test::read_in_pieces;
using farport::test::read_whole;
using farport::test::trace_clock;
using farport::test::trace_object;
using farport::test::TraceWriter;
using farport::test::Transcript;
using Lines = std::vector<std::string>;

namespace {

/// A block of metadata of formats 4 and 5 with one definition.
FieldWriter metadata_4(const FieldWriter& definition) {
  return event_block().u8(0xC0).var(0).var(definition.size()).bytes(definition.take());
}

FieldWriter metadata_6(const FieldWriter& definition) {
  return FieldWriter().u16(0).sized16(definition);
}

FieldWriter stacks(std::uint32_t first, std::initializer_list<std::vector<std::uint64_t>> all) {
  FieldWriter out = FieldWriter().u32(first).u32(all.size());
  for (const auto& stack : all) {
    out.u32(stack.size() * 8);
    for (const std::uint64_t address : stack) out.u64(address);
  }
  return out;
}

/// One after which an event of kind 1 or 2 may come.
TraceWriter defined(std::uint32_t format) {
  TraceWriter writer = TraceWriter::begun(format);
  if (format == 6) {
    writer.block(BlockKind::metadata, metadata_6(definition_6(1, "Orders", 10, "Priced").u16(0).u16(0))
                                          .sized16(definition_6(2, "Orders", 20, "Paid").u16(0).u16(0)));
    writer.block(BlockKind::threads,
                 FieldWriter()
                     .sized16(FieldWriter().var(5).u8(3).var(500).u8(2).var(50).u8(1).utf8("main"))
                     .sized16(FieldWriter().var(6).u8(4).utf8("k").utf8("v").u8(3).var(600))
                     .sized16(FieldWriter().var(7).u8(99).u8(1)));
    return writer;
  }
  writer.block(BlockKind::metadata, metadata_4(definition_4(1, "Orders", 10, "Priced")));
  writer.block(BlockKind::metadata, metadata_4(definition_4(2, "Orders", 20, "Paid")));
  return writer;
}

/// A compressed event that says everything, and a payload of two bytes.
FieldWriter first_event(std::uint32_t format) {
  FieldWriter out;
  if (format == 6) {
    // Kind 1, number 1, by thread 5 on processor 3, about thread 6, stack 2, at 2,000, labels 1.
    out.u8(0xDF).var(1).var(0).var(5).var(3).var(6).var(2).var(2'000).var(1).var(2);
  } else {
    out.u8(0xFF).var(1).var(0).var(500).var(3).var(600).var(2).var(2'000).guid(7).guid(8).var(2);
  }
  return out.u16(0xABCD);
}

FieldWriter labels() {
  return FieldWriter()
      .u32(1)
      .u32(2)
      .u8(1)
      .guid(7)
      .u8(2)
      .guid(8)
      .u8(3)
      .guid(9)
      .u8(4)
      .u64(10)
      .u8(5)
      .utf8("k")
      .utf8("v")
      .u8(6)
      .utf8("n")
      .var(3)
      .u8(7)
      .u8(11)
      .u8(8)
      .u64(12)
      .u8(9)
      .u8(13)
      .u8(0x80 | 10)
      .u8(14)
      .u8(0x80 | 4)
      .u64(1);
}

/// A stream that has everything.
TraceWriter everything(std::uint32_t format) {
  TraceWriter writer = defined(format);
  if (format == 6) writer.block(BlockKind::labels, labels());
  writer.block(BlockKind::stacks, stacks(1, {{}, {0x7F01, 0x7F02}}));
  FieldWriter events = event_block().bytes(first_event(format).take());
  events.u8(0).var(5).u16(1);                // as the one before, but 5 later
  events.u8(0x80 | 1).var(2).var(0).var(0);  // of kind 2, without a payload
  writer.block(BlockKind::events, events);
  if (format == 6) {
    writer.block(BlockKind::sequence_point, FieldWriter().u64(3'000).u32(0).u32(1).var(5).var(3));
    writer.block(BlockKind::removed_threads, FieldWriter().var(5).var(4));
  } else {
    writer.block(BlockKind::sequence_point, FieldWriter().u64(3'000).u32(1).u64(500).u32(4));
  }
  return writer.end();
}

std::string after(const TraceWriter& before, BlockKind kind, const FieldWriter& content) {
  TraceWriter writer = before;
  return outcome_of(writer.block(kind, content));
}

/// Of a message, what it says behind the place.
std::string why(const std::string& message) {
  return message.substr(message.find(": ") + 2);
}

const std::string kEnds = "it breaks off";

}  // namespace

TEST_CASE("a stream of format 4 is read", "[nettrace]") {
  const Transcript read = read_whole(everything(4));
  CHECK(read.lines == Lines{"trace of 4711, format 4", "definition 1 Orders/10 Priced",
                            "definition 2 Orders/20 Paid",
                            "sorted event Orders/10 #1 thread 4711.600 by 500 processor 3 at 2000 activity "
                            "07 08 stack [7f01 7f02] "
                            "payload 2",
                            "event Orders/10 #2 thread 4711.600 by 500 processor 3 at 2005 activity 07 08 "
                            "stack [7f01 7f02] payload 2",
                            "event Orders/20 #3 thread 4711.600 by 500 processor 3 at 2005 activity 07 08 "
                            "stack [7f01 7f02] payload 0",
                            "dropped 1 of thread 500", "sequence point at 3000", "end"});
  CHECK(read.payloads[0] == Bytes{std::byte{0xCD}, std::byte{0xAB}});
  CHECK(read.trace.processors == 3);
  CHECK(read.trace.pointer_size == 8);
  CHECK(read.trace.ticks_per_second == farport::test::kTicksPerSecond);
}

TEST_CASE("a stream of format 6 is read", "[nettrace]") {
  const Transcript read = read_whole(everything(6));
  CHECK(read.lines == Lines{"trace of 4711, format 6", "definition 1 Orders/10 Priced",
                            "definition 2 Orders/20 Paid",
                            "sorted event Orders/10 #1 thread 0.600 by 500 processor 3 at 2000 activity 07 "
                            "08 stack [7f01 7f02] "
                            "payload 2",
                            "event Orders/10 #2 thread 0.600 by 500 processor 3 at 2005 activity 07 08 stack "
                            "[7f01 7f02] payload 2",
                            "event Orders/20 #3 thread 0.600 by 500 processor 3 at 2005 activity 07 08 stack "
                            "[7f01 7f02] payload 0",
                            "sequence point at 3000", "dropped 1 of thread 500", "end"});
  CHECK(read.trace.attributes.size() == 3);
  CHECK(read.trace.processors == 3);
}

TEST_CASE("a stream reads the same in pieces of any size", "[nettrace]") {
  for (const std::uint32_t format : {4, 5, 6}) {
    const TraceWriter writer = everything(format);
    const Lines whole = read_whole(writer).lines;
    CHECK(whole.back() == "end");
    for (std::size_t piece = 1; piece < writer.bytes().size(); ++piece) {
      INFO("format " << format << " in pieces of " << piece);
      CHECK(read_in_pieces(writer.bytes(), piece).lines == whole);
    }
  }
}

TEST_CASE("a stream that breaks off has not ended in good order", "[nettrace]") {
  for (const std::uint32_t format : {4, 6}) {
    const Bytes whole = everything(format).bytes();
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const auto last = read_in_pieces(BytesView(whole).first(size), size + 1).lines.back();
      INFO("format " << format << " after " << size);
      CHECK(last == "cannot read the trace at byte " + std::to_string(size) + ": it breaks off");
    }
  }
}

TEST_CASE("whether a stream breaks off is known without reading it", "[nettrace]") {
  for (const std::uint32_t format : {4, 5, 6}) {
    const Bytes whole = everything(format).bytes();
    for (std::size_t piece = 1; piece <= whole.size(); ++piece) {
      INFO("format " << format << " in pieces of " << piece);
      EndWatch watch;
      for (std::size_t at = 0; at < whole.size(); at += piece) {
        CHECK(watch.breaks_off());
        watch.take(BytesView(whole).subspan(at, std::min(piece, whole.size() - at)));
      }
      CHECK_FALSE(watch.breaks_off());
    }
  }
  EndWatch other;
  const Bytes text(100, std::byte{'x'});
  other.take(text);
  CHECK_FALSE(other.breaks_off());
}

TEST_CASE("nothing follows the end of a stream", "[nettrace]") {
  for (const std::uint32_t format : {4, 6}) {
    TraceWriter writer = everything(format);
    CHECK(why(outcome_of(writer.raw(FieldWriter().u8(1)))) == "there is more behind its end");
  }
}

TEST_CASE("a reader that has failed fails for ever", "[nettrace]") {
  Transcript transcript;
  Reader reader(transcript);
  const Bytes nothing = FieldWriter().text("Nettracy").take();
  const auto first = reader.feed(nothing);
  REQUIRE_FALSE(first.has_value());
  CHECK(first.error().message() == "cannot read the trace at byte 0: it does not begin with Nettrace");
  CHECK(reader.feed(TraceWriter::begun(4).bytes()).error().message() == first.error().message());
  CHECK(reader.finish().error().message() == first.error().message());
  CHECK(transcript.lines.empty());
}

TEST_CASE("a stream that begins in another way is refused", "[nettrace]") {
  const auto begins = [](const FieldWriter& bytes) {
    return why(read_in_pieces(bytes.take(), bytes.size()).lines.back());
  };
  CHECK(begins(FieldWriter().text("HTTP/1.1")) == "it does not begin with Nettrace");
  CHECK(begins(FieldWriter().text("Nettrace").u32(20).text("!FastSerialization.2")) ==
        "it begins as no known format does");
  CHECK(begins(FieldWriter().text("Nettrace").u32(21)) == "it begins as no known format does");
  CHECK(begins(FieldWriter().text("Nettrace").u32(0).u32(7).u32(0)) ==
        "its format is 7, and 4, 5 and 6 are known");
  CHECK(begins(FieldWriter().text("Nettrace").u32(0).u32(6).u32(9)) == kEnds);
}

TEST_CASE("objects of formats 4 and 5 are where they should be, and of known types", "[nettrace]") {
  const auto object = [](std::string_view name, std::uint32_t version, std::uint32_t least) {
    return why(outcome_of(TraceWriter(4).object(name, trace_object(), version, least)));
  };
  CHECK(object("Trace", 4, 4) == kEnds);
  CHECK(object("Trace", 6, 5) == kEnds);
  CHECK(object("Trace", 3, 0) == "its format is 3, and 4, 5 and 6 are known");
  CHECK(object("Trace", 7, 7) == "its format is 7, and 4, 5 and 6 are known");
  CHECK(object("Tracy", 4, 4) == "an object is of an unknown type");
  CHECK(object("EventBlock", 3, 3) == "a block is for readers of its version 3, and 2 is known");
  CHECK(object(std::string(kMaxTypeNameBytes + 1, 'x'), 4, 4) == "the name of an object's type is too long");

  const auto then = [](const FieldWriter& bytes) {
    return why(outcome_of(TraceWriter::begun(4).raw(bytes)));
  };
  CHECK(then(FieldWriter().u8(7).text("01234567890123")) == "there is no object where one should begin");
  CHECK(then(FieldWriter().u8(5).u8(5).u8(2).text("012345678901")) ==
        "there is no object where one should begin");
  CHECK(then(FieldWriter().u8(5).u8(5).u8(1).u32(2).u32(2).u32(7).text("SPBlock").u8(5)) ==
        "an object's type does not end where it should");
  CHECK(then(FieldWriter().u8(5).u8(5).u8(1).u32(2).u32(2).u32(7).text("SPBlock").u8(6).u32(
            kMaxBlockBytes + 1)) == "a block is too large");
  const auto longer = FieldWriter().bytes(trace_object().take()).u8(0);
  CHECK(why(outcome_of(TraceWriter(4).object("Trace", longer, 4))) ==
        "an object does not end where it should");
}

TEST_CASE("a stream says once, and first, what it is of", "[nettrace]") {
  for (const std::uint32_t format : {4, 6}) {
    CHECK(why(outcome_of(TraceWriter(format).end())) == "something comes before it says what it is of");
    TraceWriter early(format);
    CHECK(why(outcome_of(early.block(BlockKind::stacks, stacks(1, {})))) ==
          "something comes before it says what it is of");
  }
  TraceWriter twice = TraceWriter::begun(6);
  CHECK(why(outcome_of(twice.block(BlockKind::trace, trace_clock().u32(0)))) ==
        "it says twice what it is of");
  CHECK(why(outcome_of(TraceWriter::begun(4).object("Trace", trace_object(), 4))) ==
        "it says twice what it is of");
}

TEST_CASE("a header that can't be is refused", "[nettrace]") {
  const auto begun = [](const FieldWriter& header) {
    return why(outcome_of(TraceWriter(6).block(BlockKind::trace, header)));
  };
  CHECK(begun(trace_clock().u32(0)) == kEnds);
  CHECK(begun(trace_clock(1).u32(0)) == kEnds);
  CHECK(begun(trace_clock(0).u32(0)) == "the clock's frequency can't be");
  CHECK(begun(trace_clock(kMaxTicksPerSecond + 1).u32(0)) == "the clock's frequency can't be");
  CHECK(begun(trace_clock(UINT64_MAX).u32(0)) == "the clock's frequency can't be");
  CHECK(begun(trace_clock(1, 5).u32(0)) == "pointers are neither of 4 nor of 8 bytes");
  CHECK(begun(trace_clock().u32(0xFFFFFFFF)) == "a field goes beyond the end of what holds it");
  const FieldWriter many = [] {
    FieldWriter texts = trace_clock().u32(100'000);
    for (int i = 0; i < 100'000; ++i) texts.utf8("").utf8("");
    return texts;
  }();
  CHECK(begun(many) == "the trace says too much of itself");
  for (const std::size_t part : {1, 3, 4, 5, 6, 7}) {
    FieldWriter header;
    for (std::size_t i = 0; i < 8; ++i) header.u16(i == part ? 9'999 : i == 1 || i == 3 ? 1 : 0);
    CHECK(begun(header.u64(0).u64(1).u32(8).u32(0)) == "the time at which the trace began is no time");
  }
}

TEST_CASE("timestamps are moments", "[nettrace]") {
  TraceHeader trace = read_whole(TraceWriter::begun(4)).trace;
  // 2026-11-22 03:04:05.678 UTC.
  constexpr std::int64_t kSync = 1'795'316'645'678 * std::int64_t{10'000};
  CHECK(trace.sync_time == kSync);
  CHECK(trace.sync_ticks == kSyncTicks);
  CHECK(trace.time_of(kSyncTicks) == kSync);
  CHECK(trace.time_of(kSyncTicks + 1'999'999'999) == kSync + 19'999'999);
  CHECK(trace.time_of(kSyncTicks - 150) == kSync - 1);
  trace.ticks_per_second = 1;
  CHECK(trace.time_of(INT64_MAX) == INT64_MAX);
  CHECK(trace.time_of(INT64_MIN) == INT64_MIN);
  trace.ticks_per_second = kMaxTicksPerSecond;
  CHECK(trace.time_of(kSyncTicks + kMaxTicksPerSecond - 1) == kSync + 9'999'999);
}

TEST_CASE("events of a block may be written whole", "[nettrace]") {
  FieldWriter v4 =
      FieldWriter().u32(1).u32(1).u64(600).u64(500).u32(3).u32(0).u64(2'000).guid(7).guid(8).u32(3);
  v4.text("abc").u8(0).u16(0).u16(0);  // zeros up to where the next one may begin
  const FieldWriter unsorted =
      FieldWriter().u32(0x80000002).u32(2).u64(500).u64(500).u32(3).u32(0).u64(2'000).guid(0).guid(0).u32(0);
  TraceWriter writer = defined(4);
  writer.block(BlockKind::events, event_block(false).sized32(v4).sized32(unsorted));
  const Lines lines = read_whole(writer).lines;
  CHECK(lines[3] ==
        "sorted event Orders/10 #1 thread 4711.600 by 500 processor 3 at 2000 activity 07 08 stack [] "
        "payload 3");
  CHECK(lines[4] ==
        "event Orders/20 #2 thread 4711.500 by 500 processor 3 at 2000 activity 00 00 stack [] payload 0");

  const FieldWriter v6 = FieldWriter().u32(1).u32(1).u64(6).u64(5).u32(3).u32(0).u64(2'000).u32(0).u32(0);
  TraceWriter other = defined(6);
  other.block(BlockKind::events, event_block(false).sized32(v6));
  CHECK(
      read_whole(other).lines[3] ==
      "sorted event Orders/10 #1 thread 0.600 by 500 processor 3 at 2000 activity 00 00 stack [] payload 0");
  FieldWriter too_short = FieldWriter().u32(1).u32(1);
  CHECK(why(after(defined(4), BlockKind::events, event_block(false).sized32(too_short))) ==
        "an event does not fit its size");
}

TEST_CASE("a header of a block of events may be longer, but not shorter", "[nettrace]") {
  FieldWriter longer = FieldWriter().u16(24).u16(1).u64(0).u64(0).u32(0xADDED);
  CHECK(
      why(after(defined(4), BlockKind::events,
                longer.u8(0xFF & ~0x08).var(1).var(0).var(5).var(0).var(5).var(1).guid(0).guid(0).var(0))) ==
      kEnds);
  CHECK(why(after(defined(4), BlockKind::events, FieldWriter().u16(19).u16(1).u64(0).u64(0))) ==
        "the header of a block of events is too small");
  CHECK_FALSE(why(after(defined(4), BlockKind::events, FieldWriter().u16(0xFFFF).u16(1).u64(0).u64(0))) ==
              kEnds);
}

TEST_CASE("an event may not refer to what has not come", "[nettrace]") {
  for (const std::uint32_t format : {4, 6}) {
    const FieldWriter events = event_block().bytes(first_event(format).take());
    TraceWriter writer = TraceWriter::begun(format);
    CHECK(why(after(writer, BlockKind::events, events)) == "an event is of a kind that has not been defined");
    CHECK(why(after(defined(format), BlockKind::events, events)) == "an event has a stack that has not come");
  }
  TraceWriter writer = defined(6);
  writer.block(BlockKind::stacks, stacks(1, {{}, {}}));
  const auto event = [](int capture, int thread, int label_list) {
    return event_block()
        .u8(0xDF)
        .var(1)
        .var(0)
        .var(capture)
        .var(3)
        .var(thread)
        .var(2)
        .var(1)
        .var(label_list)
        .var(0);
  };
  CHECK(why(after(writer, BlockKind::events, event(5, 6, 0))) == kEnds);
  CHECK(why(after(writer, BlockKind::events, event(5, 6, 1))) == "an event has labels that have not come");
  CHECK(why(after(writer, BlockKind::events, event(8, 6, 0))) == "a thread has not been introduced");
  CHECK(why(after(writer, BlockKind::events, event(5, 8, 0))) == "a thread has not been introduced");
}

TEST_CASE("a payload ends within its block", "[nettrace]") {
  CHECK_FALSE(why(after(defined(4), BlockKind::events, event_block().u8(0x81).var(1).var(0).var(1))) ==
              kEnds);
  CHECK_FALSE(why(after(defined(4), BlockKind::events,
                        event_block().u8(0x81).var(1).var(0).var(0xFFFFFFFF))) == kEnds);
}

TEST_CASE("stacks are forgotten at sequence points", "[nettrace]") {
  TraceWriter after_point = defined(4);
  after_point.block(BlockKind::stacks, stacks(1, {{}, {1}}));
  after_point.block(BlockKind::sequence_point, FieldWriter().u64(0).u32(0));
  CHECK(why(after(after_point, BlockKind::events, event_block().bytes(first_event(4).take()))) ==
        "an event has a stack that has not come");
  CHECK(why(after(after_point, BlockKind::stacks, stacks(1, {{}, {1}}))) == kEnds);
}

TEST_CASE("stacks are whole, and defined once", "[nettrace]") {
  const TraceWriter begun = TraceWriter::begun(4);
  CHECK(why(after(begun, BlockKind::stacks, FieldWriter().u32(1).u32(1).u32(7).u64(0))) ==
        "a stack does not consist of whole addresses");
  CHECK_FALSE(why(after(begun, BlockKind::stacks, FieldWriter().u32(1).u32(2).u32(0))) == kEnds);
  CHECK_FALSE(why(after(begun, BlockKind::stacks, FieldWriter().u32(1).u32(1).u32(16).u64(0))) == kEnds);
  CHECK_FALSE(why(after(begun, BlockKind::stacks, FieldWriter().u32(1))) == kEnds);
  TraceWriter once = begun;
  once.block(BlockKind::stacks, stacks(1, {{1}, {2}}));
  CHECK(why(after(once, BlockKind::stacks, stacks(2, {{3}}))) == "a stack is defined twice");
  CHECK(why(after(begun, BlockKind::stacks, stacks(1, {std::vector<std::uint64_t>(4097)}))) ==
        "a stack is longer than any that there is");
}

TEST_CASE("addresses have the pointers' size", "[nettrace]") {
  TraceWriter writer(6);
  writer.block(BlockKind::trace, trace_clock(1, 4).u32(0));
  writer.block(BlockKind::metadata, metadata_6(definition_6(1, "P", 1, "E").u16(0).u16(0)));
  writer.block(BlockKind::threads, FieldWriter().sized16(FieldWriter().var(1)));
  writer.block(BlockKind::stacks, FieldWriter().u32(1).u32(1).u32(8).u32(0xFFFFFFFF).u32(2));
  writer.block(BlockKind::events, event_block().u8(0x0F).var(1).var(0).var(1).var(0).var(1).var(1).var(0));
  CHECK_THAT(read_whole(writer).lines[2], Catch::Matchers::Contains("stack [ffffffff 2]"));
}

TEST_CASE("gaps in a thread's numbers are events that were dropped", "[nettrace]") {
  TraceWriter writer = defined(4);
  // The first one's number says nothing. Then 4 are missing, and then the thread's id is that of a new one.
  FieldWriter events = event_block().u8(3).var(1).var(9).var(500).var(0).var(0);
  events.u8(2).var(4).var(500).var(0).var(0).u8(2).var(UINT32_MAX - 14).var(500).var(0).var(0);
  writer.block(BlockKind::events, events);
  // The second thread has not written anything, so far as is known.
  writer.block(BlockKind::sequence_point, FieldWriter().u64(0).u32(2).u64(500).u32(3).u64(600).u32(7));
  writer.block(BlockKind::sequence_point, FieldWriter().u64(0).u32(2).u64(500).u32(2).u64(600).u32(9));
  const Lines lines = read_whole(writer).lines;
  CHECK_THAT(lines[3], Catch::Matchers::Contains("#10 "));
  CHECK(lines[4] == "dropped 4 of thread 500");
  CHECK_THAT(lines[5], Catch::Matchers::Contains("#15 "));
  CHECK_THAT(lines[6], Catch::Matchers::Contains("#1 "));
  CHECK(Lines(lines.begin() + 7, lines.end() - 1) == Lines{"dropped 2 of thread 500", "sequence point at 0",
                                                           "dropped 2 of thread 600", "sequence point at 0"});
}

TEST_CASE("threads that a sequence point does not name are forgotten", "[nettrace]") {
  TraceWriter writer = defined(4);
  const FieldWriter events = event_block().u8(3).var(1).var(9).var(500).var(0).var(0);
  const FieldWriter later = event_block().u8(3).var(1).var(20).var(500).var(0).var(0);
  writer.block(BlockKind::events, events);
  writer.block(BlockKind::sequence_point, FieldWriter().u64(0).u32(0));
  writer.block(BlockKind::events, later);
  for (const std::string& line : read_whole(writer).lines) CHECK_FALSE(line.starts_with("dropped"));
}

TEST_CASE("format 6 says when threads and definitions are forgotten", "[nettrace]") {
  const auto point = [](int flags) { return FieldWriter().u64(0).u32(flags).u32(0); };
  const auto event = event_block().u8(3).var(1).var(0).var(5).var(0).var(0);
  for (const int flags : {0, 1, 2}) {
    TraceWriter writer = defined(6);
    writer.block(BlockKind::sequence_point, point(flags));
    const std::string expected[] = {"a thread has not been introduced", "a thread has not been introduced",
                                    "an event is of a kind that has not been defined"};
    // The thread that an event is about is 0, which was never introduced.
    CHECK(why(after(writer, BlockKind::events, event)) == expected[flags]);
  }
  TraceWriter removed = defined(6);
  removed.block(BlockKind::removed_threads, FieldWriter().var(5).var(0));
  CHECK(why(after(removed, BlockKind::removed_threads, FieldWriter().var(5).var(0))) ==
        "a thread has not been introduced");
  CHECK(why(after(removed, BlockKind::sequence_point, FieldWriter().u64(0).u32(0).u32(1).var(5).var(0))) ==
        "a thread has not been introduced");
}

TEST_CASE("blocks of an unknown kind are skipped in format 6", "[nettrace]") {
  TraceWriter writer = TraceWriter::begun(6);
  writer.block(static_cast<BlockKind>(9), FieldWriter().u32(1));
  writer.block(static_cast<BlockKind>(254), FieldWriter().u32(1));
  CHECK(read_whole(writer.end()).lines == Lines{"trace of 4711, format 6", "end"});
}

TEST_CASE("definitions have ids of their own", "[nettrace]") {
  CHECK(why(after(defined(4), BlockKind::metadata, metadata_4(definition_4(2, "P", 1, "E")))) ==
        "a kind of events is defined twice");
  CHECK(why(after(TraceWriter::begun(6), BlockKind::metadata,
                  metadata_6(definition_6(0, "P", 1, "E").u16(0).u16(0)))) == "a kind of events has no id");
  CHECK_FALSE(why(after(TraceWriter::begun(4), BlockKind::metadata, metadata_4(FieldWriter().u32(1)))) ==
              kEnds);
  CHECK_FALSE(why(after(TraceWriter::begun(6), BlockKind::metadata, FieldWriter().u16(0).u16(9).u16(0))) ==
              kEnds);
}

TEST_CASE("labels are of known kinds, and defined once", "[nettrace]") {
  const TraceWriter begun = TraceWriter::begun(6);
  CHECK(why(after(begun, BlockKind::labels, labels())) == kEnds);
  TraceWriter once = begun;
  once.block(BlockKind::labels, labels());
  CHECK(why(after(once, BlockKind::labels, FieldWriter().u32(2).u32(1).u8(0x80 | 9).u8(1))) ==
        "a label list is defined twice");
  CHECK(why(after(begun, BlockKind::labels, FieldWriter().u32(0).u32(1).u8(0x80 | 9).u8(1))) ==
        "a label list is defined twice");
  CHECK(why(after(begun, BlockKind::labels, FieldWriter().u32(1).u32(1).u8(0x80 | 77))) ==
        "a label is of an unknown kind");
  CHECK_FALSE(why(after(begun, BlockKind::labels, FieldWriter().u32(1).u32(1).u8(9).u8(1))) == kEnds);
}

TEST_CASE("labels stand for what the definition says", "[nettrace]") {
  class Seen : public Handler {
   public:
    std::vector<std::uint64_t> values;
    void on_event(const Event& event) override {
      values = {event.opcode(), event.keywords(), event.level(), event.version(), event.labels.span_id};
      REQUIRE(event.labels.others.size() == 2);
      CHECK(std::get<std::string>(event.labels.others[0].value) == "v");
      CHECK(std::get<std::int64_t>(event.labels.others[1].value) == -2);
    }
  } seen;
  TraceWriter writer = defined(6);
  writer.block(BlockKind::labels, labels()).block(BlockKind::stacks, stacks(2, {{}}));
  writer.block(BlockKind::events, event_block().bytes(first_event(6).take()));
  Reader reader(seen);
  CHECK(reader.feed(writer.bytes()).has_value());
  CHECK(seen.values == std::vector<std::uint64_t>{11, 12, 13, 14, 10});
}

TEST_CASE("nothing grows without an end", "[nettrace]") {
  constexpr std::size_t kPart = kMaxFrames * 8;
  // Its size, and its place in a table.
  constexpr std::size_t kBeside = 4 + 64;
  FieldWriter stack = FieldWriter().u32(kPart);
  stack.bytes(Bytes(kPart));
  TraceWriter deep = TraceWriter::begun(6);
  constexpr std::uint32_t kFit = kMaxStackBytes / (kPart + kBeside);
  for (std::uint32_t id = 1; id <= kFit; ++id) {
    deep.block(BlockKind::stacks, FieldWriter().u32(id).u32(1).bytes(stack.take()));
  }
  CHECK(why(outcome_of(deep)) == kEnds);
  CHECK(why(after(deep, BlockKind::stacks, FieldWriter().u32(kFit + 1).u32(1).bytes(stack.take()))) ==
        "there are too many stacks without a sequence point");

  TraceWriter crowd = TraceWriter::begun(4);
  FieldWriter all = FieldWriter().u64(0).u32(kMaxThreads + 1);
  for (std::size_t i = 0; i < kMaxThreads + 1; ++i) all.u64(i).u32(0);
  CHECK(why(after(crowd, BlockKind::sequence_point, all)) == "there are too many threads");
  FieldWriter named;
  for (std::size_t i = 0; i < kMaxThreads + 1; ++i) named.sized16(FieldWriter().var(i));
  CHECK(why(after(TraceWriter::begun(6), BlockKind::threads, named)) == "there are too many threads");
  FieldWriter long_names;
  for (std::size_t i = 0; i < 70; ++i)
    long_names.sized16(FieldWriter().var(i).u8(1).utf8(std::string(65'000, 'x')));
  CHECK(why(after(TraceWriter::begun(6), BlockKind::threads, long_names)) == "there are too many threads");

  FieldWriter list = FieldWriter().u32(1).u32(1);
  for (std::size_t i = 0; i < kMaxLabels + 1; ++i) list.u8(5).utf8("").utf8("");
  CHECK(why(after(TraceWriter::begun(6), BlockKind::labels, list.u8(0x80 | 9).u8(1))) ==
        "a label list is too long");
  FieldWriter lists = FieldWriter().u32(1).u32(200'000);
  for (int i = 0; i < 200'000; ++i) lists.u8(0x80 | 9).u8(1);
  CHECK(why(after(TraceWriter::begun(6), BlockKind::labels, lists)) ==
        "there are too many labels without a sequence point");

  FieldWriter definitions = FieldWriter().u16(0);
  const std::string name(60'000, 'x');
  for (int id = 1; id <= 200; ++id) definitions.sized16(definition_6(id, "P", 1, name).u16(0).u16(0));
  TraceWriter kinds = TraceWriter::begun(6);
  CHECK(why(outcome_of(kinds.block(BlockKind::metadata, definitions))) == kEnds);
  FieldWriter more = FieldWriter().u16(0);
  for (int id = 201; id <= 400; ++id) more.sized16(definition_6(id, "P", 1, name).u16(0).u16(0));
  CHECK(why(after(kinds, BlockKind::metadata, more)) == "there are too many kinds of events");
}
