#include "router/readers/reading.hpp"

#include <catch2/catch.hpp>

#include "router/readers/answers.hpp"
#include "router/wire/samples.hpp"
#include "tests/unit/nettrace/trace_writer.hpp"
#include "tests/unit/streams.hpp"

using namespace farport;
using namespace farport::router;

namespace {

using transport::FdStream;
using transport::Task;

/// A reader's work on a recording, on a loop of its own.
struct ReaderFixture {
  // Before the loop, which has a thread pool.
  ReaderProcess readers = ReaderProcess::start({[] {}, [] {}, [] { return true; }}, make_answer).value();
  transport::Loop loop;
  test::StreamPair streams = test::make_pair(loop);
};

std::string text_of_bytes(const test::Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Task<void> write_recording(FdStream& to, std::string text) {
  std::ignore = co_await to.write_last(test::bytes_of(text));
}

/// All that the reader says: lines, and how it ended.
Task<std::string> all_of(Reading& reading) {
  std::string said;
  for (;;) {
    const auto frame = co_await reading.next();
    if (!frame) co_return said + "error: " + frame.error().why;
    if (frame->kind == ReaderFrame::end) co_return said + "end";
    said += frame->text;
  }
}

/// Without any method.
Task<void> pass_samples_on(Reading& to, FdStream& samples) {
  const Reading::Passed passed = co_await to.pass_on(samples, Reading::As::part);
  if (passed == Reading::Passed::all) co_await to.finish();
}

Task<std::string> read_through(ReaderFixture& desk, ReadingRequest wanted, std::string recording) {
  transport::TaskSet writing(desk.loop);
  writing.spawn(write_recording(*desk.streams.first, std::move(recording)));
  const bool is_profile = wanted.kind == ReadingTask::Kind::profile;
  Reading reading(desk.loop, std::move(wanted));
  const Result<void> begun = reading.begin(desk.readers);
  if (!begun) co_return "not begun: " + begun.error().message();
  transport::TaskSet feeding(desk.loop);
  feeding.spawn(is_profile ? pass_samples_on(reading, *desk.streams.second)
                           : reading.pass_all_on(*desk.streams.second));
  std::string said = co_await all_of(reading);
  co_return said;
}

ReadingRequest stacks() {
  return {{ReadingTask::Kind::stacks, 64U << 20U, 10}, {}};
}

/// Two samples of a call that a function has made.
std::string samples() {
  using namespace std::chrono_literals;
  SampleWriter writer;
  writer.on_start({99, SampleClock::cpu_clock, false});
  writer.on_thread(7, "worker");
  writer.on_call({0, 0x1000});
  writer.on_call({1, 0x2000});
  writer.on_sample({1ms, 7, 2});
  writer.on_sample({2ms, 7, 2});
  writer.on_symbol({0x1000, 0x1100, "caller", {}});
  writer.on_end(SamplingEnd::time_over, {});
  return writer.take();
}

}  // namespace

TEST_CASE("a reader makes a document of a recording", "[readers]") {
  ReaderFixture desk;
  const std::string said =
      desk.loop.run(read_through(desk, stacks(), text_of_bytes(test::TraceWriter::begun(4).end().bytes())));
  CHECK(said == "[]\nend");
}

TEST_CASE("a reader passes the events of a heap on as they come, and says if they have no end", "[readers]") {
  ReaderFixture desk;
  const std::string recording = text_of_bytes(test::TraceWriter::begun(4).end().bytes());
  const ReadingRequest wanted{{ReadingTask::Kind::heap_events, 64U << 20U, 10}, "orders"};
  const std::string said = desk.loop.run(read_through(desk, wanted, recording));
  CHECK_THAT(said, Catch::StartsWith(recording +
                                     "error: cannot read the heap of orders: the runtime did not finish"));
}

TEST_CASE("a reader says what is wrong with a recording", "[readers]") {
  ReaderFixture desk;
  const std::string said = desk.loop.run(read_through(desk, stacks(), "Nettrace of another kind"));
  CHECK_THAT(said, Catch::StartsWith("error: cannot read the trace"));
}

TEST_CASE("a reader makes a profile's file of samples, and of methods as far as they come", "[readers]") {
  ReaderFixture desk;
  const ReadingRequest wanted{{ReadingTask::Kind::profile, 64U << 20U, 10, profile::Form::folded, 12},
                              "orders"};
  const std::string said = desk.loop.run(read_through(desk, wanted, samples()));
  CHECK(said == "orders;caller;0x2000 2\nend");
}

TEST_CASE("a reader says so where samples have no end", "[readers]") {
  ReaderFixture desk;
  const ReadingRequest wanted{{ReadingTask::Kind::profile, 64U << 20U, 10, profile::Form::folded, 12},
                              "orders"};
  const std::string whole = samples();
  CHECK(desk.loop.run(read_through(desk, wanted, whole.substr(0, whole.size() - 1))) ==
        "error: cannot read the samples: they are incomplete");
}

namespace {

/// A reader that does what a test wants.
struct LocalFixture {
  explicit LocalFixture(ReaderWork work)
      : readers(ReaderProcess::start({[] {}, [] {}, [] { return true; }}, std::move(work)).value()) {}

  ReaderProcess readers;
  transport::Loop loop;
};

Task<std::string> tell_part(Reading& reading, test::Bytes part) {
  std::ignore = co_await reading.write_part(part);
  co_await reading.finish();
  std::string said = co_await all_of(reading);
  co_return said;
}

/// How many bytes a part has, and how many come behind it.
Result<void> count_part(const ReadingRequest& wanted, ReaderInput& from, ReaderOutput& to) {
  std::size_t bytes = 0;
  for (auto piece = from.next_of_part(); piece && !piece->empty(); piece = from.next_of_part())
    bytes += piece->size();
  const auto rest = from.next();
  to.write_lines(wanted.text + " " + std::to_string(bytes) + " " + std::to_string(rest ? rest->size() : 1));
  return {};
}

std::string said_of(LocalFixture& desk, test::Bytes part) {
  Reading reading(desk.loop, local_request(ReadingTask::Kind::local, "bytes"), Reading::For::user);
  REQUIRE(reading.begin(desk.readers));
  return desk.loop.run(tell_part(reading, std::move(part)));
}

}  // namespace

namespace {

Task<std::string> join_through(Reading& reading, test::Bytes first, test::Bytes second, test::Bytes third) {
  std::ignore = co_await reading.write_part(first);
  std::ignore = co_await reading.write_part({});  // No samples.
  std::ignore = co_await reading.write_part(second);
  std::ignore = co_await reading.write(third);
  co_await reading.finish();
  std::string said = co_await all_of(reading);
  co_return said;
}

}  // namespace

TEST_CASE("a reader joins recordings, and leaves out names that are no good", "[readers]") {
  ReaderFixture desk;
  const test::Bytes good = test::TraceWriter::begun(4).bytes();
  const std::string_view words = "Nettrace of another kind";
  const auto bytes = std::as_bytes(std::span(words));
  const test::Bytes bad(bytes.begin(), bytes.end());
  const auto joined = [&](const test::Bytes& first, const test::Bytes& second, const test::Bytes& third) {
    Reading reading(desk.loop, ReadingRequest{{ReadingTask::Kind::joined, 64U << 20U, 10}, {}});
    REQUIRE(reading.begin(desk.readers));
    return desk.loop.run(join_through(reading, first, second, third));
  };
  const std::string alone = joined(good, {}, {});
  CHECK(alone.starts_with(text_of_bytes(good)));
  CHECK(joined(good, good, good).size() > alone.size());
  const std::string without = joined(good, bad, good);
  CHECK(without.find("cannot read") != std::string::npos);
  CHECK(without.find("SPBlock") != std::string::npos);
  CHECK_THAT(joined(bad, good, good), Catch::StartsWith("error: "));
}

TEST_CASE("a part of any length comes whole", "[readers]") {
  LocalFixture desk(count_part);
  for (const std::size_t size : {0UL, 1UL, kMaxPiece, kMaxPiece + 1, 5 * kMaxPiece})
    CHECK(said_of(desk, test::Bytes(size, std::byte{7})) == "bytes " + std::to_string(size) + " 0end");
}

TEST_CASE("a user is told what a reader says, and nothing beside", "[readers]") {
  LocalFixture desk(
      [](const auto&, auto&, auto&) -> Result<void> { return fail("look into", "it", "it is dark"); });
  CHECK(said_of(desk, {}) == "error: it is dark");
}

TEST_CASE("a reader that may not give up its rights reads nothing", "[readers]") {
  ReaderProcess readers = ReaderProcess::start({[] {}, [] {}, [] { return false; }}, count_part).value();
  transport::Loop loop;
  Reading reading(loop, local_request(ReadingTask::Kind::local), Reading::For::user);
  REQUIRE(reading.begin(readers));
  CHECK_THAT(loop.run(tell_part(reading, test::Bytes(3))), Catch::Contains("seccomp"));
}
