#include "router/agent/readers/reading.hpp"

#include <catch2/catch.hpp>

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
  ReaderProcess readers = ReaderProcess::start({[] {}, [] {}, [] {}}).value();
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

Task<std::string> read_through(ReaderFixture& desk, ReadingRequest wanted, std::string recording) {
  transport::TaskSet writing(desk.loop);
  writing.spawn(write_recording(*desk.streams.first, std::move(recording)));
  Reading reading(desk.loop, *desk.streams.second, std::move(wanted));
  const Result<void> begun = reading.begin(desk.readers);
  if (!begun) co_return "not begun: " + begun.error().message();
  std::string said = co_await all_of(reading);
  co_return said;
}

ReadingRequest stacks() {
  return {ReadingRequest::Kind::stacks, {}, 64U << 20U, 10};
}

}  // namespace

TEST_CASE("a reader makes a document of a recording", "[readers]") {
  ReaderFixture desk;
  const std::string said =
      desk.loop.run(read_through(desk, stacks(), text_of_bytes(test::TraceWriter::begun(4).end().bytes())));
  CHECK(said == "[]\nend");
}

TEST_CASE("a reader says what is wrong with a recording", "[readers]") {
  ReaderFixture desk;
  const std::string said = desk.loop.run(read_through(desk, stacks(), "Nettrace of another kind"));
  CHECK_THAT(said, Catch::StartsWith("error: cannot read the trace"));
}
