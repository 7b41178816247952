#include "router/readers/reading.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include <fmt/core.h>

#include "router/stream/relay.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Io;
using transport::IoStatus;
using transport::Stream;
using transport::Task;

/// How long a reader that has work may be silent while its answer is awaited. A runtime may have stopped it
/// with a signal.
constexpr std::chrono::seconds kPatience{180};
constexpr transport::Milliseconds kLook{5'000};
constexpr std::uint64_t kBytesOfMiB = std::uint64_t{1} << 20;

bool has_text(ReaderFrame kind) {
  switch (kind) {
    case ReaderFrame::lines:
    case ReaderFrame::file:
    case ReaderFrame::measurement:
    case ReaderFrame::exception:
    case ReaderFrame::incident:
    case ReaderFrame::method:
    case ReaderFrame::notice:
    case ReaderFrame::failure:
      return true;
    case ReaderFrame::enough:
    case ReaderFrame::memory:
    case ReaderFrame::end:
      break;
  }
  return false;
}

void write_head(std::span<std::byte> piece, std::size_t size) {
  for (std::size_t i = 0; i < kPieceHead; ++i) piece[i] = static_cast<std::byte>(size >> (8 * i));
}

bool is_known(ReaderFrame kind) {
  return has_text(kind) || kind == ReaderFrame::enough || kind == ReaderFrame::memory ||
         kind == ReaderFrame::end;
}

Task<Result<void>> pass_answer_on(Reading& reading, AnswerTo& to, bool& begun) {
  for (;;) {
    CO_ASSIGN_OR_RETURN(auto frame, co_await reading.next());
    if (frame.kind == ReaderFrame::enough && to.enough != nullptr) to.enough->set();
    if (frame.kind == ReaderFrame::notice && to.lacks) to.lacks(std::move(frame.text));
    const bool ends = frame.kind == ReaderFrame::end;
    if (!ends && frame.kind != ReaderFrame::lines) continue;
    if (!std::exchange(begun, true)) to.begin();
    const auto bytes = std::as_bytes(std::span(frame.text));
    const IoStatus written = co_await to.stream.write(bytes);
    if (written != IoStatus::ok) co_return tl::unexpected(to.stream.error());
    if (to.sent != nullptr) *to.sent += bytes.size();
    if (!ends) continue;
    std::ignore = co_await to.stream.finish();
    co_return Result<void>();
  }
}

}  // namespace

Error Reading::no_answer(std::string why) const {
  if (for_ == For::user) return {"read", "what the runtime says", std::move(why), {}};
  return {"make", "the answer", std::move(why), "farport makes it where you are"};
}

Result<void> Reading::begin(const ReaderProcess& readers) {
  auto ends = readers.begin(wanted_);
  if (!ends && for_ == For::user) ends.error().hint = "start the command again";
  if (!ends) return tl::unexpected(ends.error());
  reader_.emplace(loop_, std::move(ends->socket), "a reader");
  lifeline_.emplace(std::move(ends->lifeline));
  // No watch for a user, who can press Ctrl-C, and who may have stopped both processes for a while.
  if (for_ == For::caller) watching_.spawn(watch());
  return {};
}

bool Reading::stands_still() const {
  return unread_since_ && waiting_since_ &&
         Clock::now() - std::max(*unread_since_, *waiting_since_) >= kPatience;
}

Task<void> Reading::watch() {
  while (!stands_still()) co_await transport::sleep(loop_, kLook);
  reader_->abort(no_answer(
      fmt::format("its reader process sent nothing for {} s: it was stopped, or gets too little CPU time",
                  kPatience.count())));
}

Task<IoStatus> Reading::write(std::span<const std::byte> bytes) {
  unread_since_ = Clock::now();
  const IoStatus written = co_await reader_->write(bytes);
  unread_since_.reset();
  co_return written;
}

Task<Reading::Passed> Reading::pass_on(Stream& from, As as) {
  // Not cleared: little memory is touched for what comes in small pieces.
  const auto piece = std::make_unique_for_overwrite<std::byte[]>(kPieceHead + kMaxPiece);
  const std::span<std::byte> whole(piece.get(), kPieceHead + kMaxPiece);
  for (;;) {
    co_await fed_.yield_if_used_up();
    const Io got = co_await from.read(whole.subspan(kPieceHead));
    if (got.status == IoStatus::failed) co_return Passed::failed;
    const bool over = got.status == IoStatus::end;
    if (over && as == As::rest) co_return Passed::all;
    const std::size_t size = over ? 0 : got.bytes;
    write_head(whole, size);
    const std::span<std::byte> passed = whole.first(kPieceHead + size);
    const IoStatus written = co_await write(as == As::part ? passed : passed.subspan(kPieceHead));
    if (written != IoStatus::ok) co_return Passed::not_taken;
    if (over) co_return Passed::all;
  }
}

Task<IoStatus> Reading::write_piece(std::span<const std::byte> piece) {
  std::vector<std::byte> headed;
  do {
    const std::span<const std::byte> passed = piece.first(std::min(piece.size(), kMaxPiece));
    headed.resize(kPieceHead);
    write_head(headed, passed.size());
    headed.insert(headed.end(), passed.begin(), passed.end());
    const IoStatus written = co_await write(headed);
    if (written != IoStatus::ok) co_return written;
    piece = piece.subspan(passed.size());
    co_await fed_.yield_if_used_up();
  } while (!piece.empty());
  co_return IoStatus::ok;
}

Task<IoStatus> Reading::write_part(std::span<const std::byte> part) {
  if (!part.empty()) {
    const IoStatus written = co_await write_piece(part);
    if (written != IoStatus::ok) co_return written;
  }
  const IoStatus ended = co_await write_piece({});
  co_return ended;
}

Task<void> Reading::finish() {
  std::ignore = co_await reader_->finish();
  unread_since_ = Clock::now();
}

Task<void> Reading::pass_all_on(Stream& from) {
  const Passed passed = co_await pass_on(from);
  if (passed == Passed::all) co_await finish();
  // Abort, so that the reader does not take the input for complete.
  if (passed == Passed::failed) reader_->abort(from.error());
}

Task<Result<Reading::Frame>> Reading::next() {
  co_await taken_.yield_if_used_up();
  waiting_since_ = Clock::now();
  auto frame = co_await take_frame();
  waiting_since_.reset();
  co_return frame;
}

Task<Result<Reading::Frame>> Reading::take_frame() {
  std::array<std::byte, kFrameHead> head{};
  const Io got = co_await reader_->read_exactly(head);
  if (got.status != IoStatus::ok) co_return tl::unexpected(lost(got.status));
  Frame frame{static_cast<ReaderFrame>(head[0]), {}};
  std::size_t size = 0;
  for (std::size_t i = head.size(); i-- > 1;) size = (size << 8U) | std::to_integer<std::size_t>(head[i]);
  if (!is_known(frame.kind) || size > (has_text(frame.kind) ? kMaxFrame : 0))
    co_return tl::unexpected(no_answer("its reader process sent malformed data"));
  frame.text.resize(size);
  const Io text = co_await reader_->read_exactly(std::as_writable_bytes(std::span(frame.text)));
  if (text.status != IoStatus::ok) co_return tl::unexpected(lost(text.status));
  if (frame.kind == ReaderFrame::failure) {
    Error failure = decode_failure(frame.text);
    co_return tl::unexpected(for_ == For::user ? std::move(failure) : no_answer(failure.message()));
  }
  if (frame.kind == ReaderFrame::memory) {
    co_return tl::unexpected(no_answer(fmt::format("it exceeds its memory limit of {:.4g} MiB",
                                                   static_cast<double>(wanted_.memory_bytes) / kBytesOfMiB)));
  }
  co_return frame;
}

/// Why the reader's stream has ended: this side has aborted it, or else the kernel has ended the reader.
Error Reading::lost(IoStatus status) const {
  const bool gone = reader_->peer_gone() || (status == IoStatus::failed && reader_->error().cause == EPIPE);
  if (status == IoStatus::failed && !gone) return reader_->error();
  if (for_ == For::user) return no_answer("its reader process exited: it was killed, or it crashed");
  return no_answer(fmt::format("its reader process exited: it used more than {} s of CPU time, or crashed",
                               wanted_.processor_seconds));
}

AnswerFrom answer_from(Stream& stream) {
  return {[&stream](Reading& reading) { return reading.pass_all_on(stream); },
          [&stream] { abort_for_gone_tool(stream); }};
}

Task<Result<void>> answer_through_reader(transport::Loop& loop, const ReaderProcess& readers,
                                         ReadingRequest wanted, AnswerFrom from, AnswerTo to) {
  // Lines may take long to come, so the answer begins before the first one. A document may come to nothing.
  bool begun = !wanted.makes_document();
  Reading reading(loop, std::move(wanted));
  Result<void> done = reading.begin(readers);
  if (!done) co_return done;
  if (begun) to.begin();
  transport::TaskSet feeding(loop);
  feeding.spawn(from.feed(reading));
  // End when the caller goes, even if the runtime or the reader is silent.
  const transport::WhenGone gone(to.stream, [&] {
    from.abandon();
    reading.abort(tool_is_gone());
  });
  done = co_await pass_answer_on(reading, to, begun);
  if (!done && begun) to.stream.abort(done.error());
  co_return done;
}

}  // namespace farport::router
