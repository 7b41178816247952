#include "router/agent/readers/reading.hpp"

#include <array>

#include <fmt/core.h>

#include "router/stream/relay.hpp"

namespace farport::router {
namespace {

using transport::Io;
using transport::IoStatus;
using transport::Stream;
using transport::Task;

constexpr std::size_t kFeedBytes = 32 * 1024;
constexpr std::size_t kMostFailure = 1024;
constexpr std::uint64_t kBytesOfMiB = std::uint64_t{1} << 20;

bool has_text(ReaderFrame kind) {
  return kind == ReaderFrame::lines || kind == ReaderFrame::measurement || kind == ReaderFrame::notice ||
         kind == ReaderFrame::failure;
}

bool is_known(ReaderFrame kind) {
  return has_text(kind) || kind == ReaderFrame::enough || kind == ReaderFrame::memory ||
         kind == ReaderFrame::end;
}

Error no_answer(std::string why) {
  return {"make", "the answer", std::move(why), "farport makes it where you are", {}};
}

Task<Result<void>> pass_answer_on(Reading& reading, AnswerTo& to, bool& begun) {
  for (;;) {
    const auto frame = co_await reading.next();
    if (!frame) co_return tl::unexpected(frame.error());
    if (frame->kind == ReaderFrame::enough) to.enough.set();
    const bool ends = frame->kind == ReaderFrame::end;
    if (!ends && frame->kind != ReaderFrame::lines) continue;
    if (!std::exchange(begun, true)) to.begin();
    const auto bytes = std::as_bytes(std::span(frame->text));
    const IoStatus written = co_await to.stream.write(bytes);
    // The caller is gone.
    if (written != IoStatus::ok) co_return Result<void>();
    if (!ends) continue;
    std::ignore = co_await to.stream.finish();
    co_return Result<void>();
  }
}

}  // namespace

Result<void> Reading::begin(const ReaderProcess& readers) {
  auto socket = readers.begin(wanted_);
  if (!socket) return tl::unexpected(socket.error());
  reader_.emplace(loop_, std::move(*socket), "a reader");
  feeding_.spawn(feed());
  return {};
}

Task<void> Reading::feed() {
  std::vector<std::byte> piece(kFeedBytes);
  for (;;) {
    co_await fed_.give_way();
    const Io got = co_await from_.read(piece);
    // What was broken off is not taken for whole.
    if (got.status == IoStatus::failed) co_return reader_->abort(from_.error());
    if (got.status == IoStatus::end) break;
    const IoStatus written = co_await reader_->write(std::span(piece).first(got.bytes));
    // What the reader has said by then says why.
    if (written != IoStatus::ok) co_return;
  }
  std::ignore = co_await reader_->finish();
}

Task<Result<Reading::Frame>> Reading::next() {
  co_await taken_.give_way();
  std::array<std::byte, kFrameHead> head{};
  const Io got = co_await reader_->read_exactly(head);
  if (got.status != IoStatus::ok) co_return tl::unexpected(lost(got.status));
  Frame frame{static_cast<ReaderFrame>(head[0]), {}};
  std::size_t size = 0;
  for (std::size_t i = head.size(); i-- > 1;) size = (size << 8U) | std::to_integer<std::size_t>(head[i]);
  if (!is_known(frame.kind) || size > (has_text(frame.kind) ? kMostFrame : 0))
    co_return tl::unexpected(no_answer("its reader has sent something malformed"));
  frame.text.resize(size);
  const Io text = co_await reader_->read_exactly(std::as_writable_bytes(std::span(frame.text)));
  if (text.status != IoStatus::ok) co_return tl::unexpected(lost(text.status));
  if (frame.kind == ReaderFrame::failure)
    co_return tl::unexpected(no_answer(frame.text.substr(0, kMostFailure)));
  if (frame.kind == ReaderFrame::memory) {
    co_return tl::unexpected(
        no_answer(fmt::format("it takes more than the {} MiB of memory that the agent has for it",
                              wanted_.memory_bytes / kBytesOfMiB)));
  }
  co_return frame;
}

/// A stream that we have broken off says why; else the kernel has ended the reader.
Error Reading::lost(IoStatus status) const {
  if (status == IoStatus::failed && !reader_->peer_gone()) return reader_->error();
  return no_answer(fmt::format("its reader has ended: it used more than {} s of the processor, or crashed",
                               wanted_.processor_seconds));
}

Task<Result<void>> answer_through_reader(transport::Loop& loop, const ReaderProcess& readers,
                                         ReadingRequest wanted, Stream& from, AnswerTo to) {
  // Lines may be long in coming: the caller is not to wait for the first one. A document may come to nothing.
  bool begun = wanted.kind != ReadingRequest::Kind::stacks && wanted.kind != ReadingRequest::Kind::heap;
  Reading reading(loop, from, std::move(wanted));
  Result<void> done = reading.begin(readers);
  if (!done) co_return done;
  if (begun) to.begin();
  // A caller that goes ends it, however silent the runtime or the reader is.
  const transport::WhenGone gone(to.stream, [&] {
    abort_for_gone_tool(from);
    reading.abort(from.error());
  });
  done = co_await pass_answer_on(reading, to, begun);
  if (!done && begun) to.stream.abort(done.error());
  co_return done;
}

}  // namespace farport::router
