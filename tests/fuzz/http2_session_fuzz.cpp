// Fuzzes what an HTTP/2 session reads once TLS is agreed upon, as a server and as a client. Its streams are
// used in every way meanwhile: read, written, answered, left alone, dropped at awkward moments.
//
// The first byte of an input says how: see the masks below. The second says in what pieces the rest comes.
#include <algorithm>
#include <span>
#include <string>

#include "tests/fuzz/fed_stream.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/unit/streams.hpp"
#include "transport/http2/session.hpp"
#include "transport/task_set.hpp"

using namespace farport::transport;
using farport::fuzz::FedStream;
using farport::fuzz::require;

namespace {

constexpr unsigned kClient = 1;
constexpr unsigned kSlowWrites = 2;
constexpr unsigned kFails = 4;
constexpr unsigned kRestAtOnce = 8;

constexpr std::size_t kReadSize = 700;
constexpr std::size_t kLongAnswer = 150'000;  // More than the windows that a peer has at first.
constexpr int kTurnsPerPiece = 3;
constexpr int kRequests = 6;

/// Small, so that few frames reach them.
Http2Limits limits() {
  Http2Limits few;
  few.streams = 5;
  few.window = 2000;
  few.head_bytes = 600;
  few.resets_at_once = 20;
  few.resets_per_second = 1;
  return few;
}

void check_head(const MessageHead& head, bool request) {
  std::size_t size = 0;
  for (const auto& [name, value] : head.fields) size += name.size() + value.size();
  require(size <= limits().head_bytes, "a head is no longer than the limit");
  require(!request || (!head.method.empty() && !head.path.empty()), "a request has a method and a path");
}

Task<void> read_to_end(Stream& stream) {
  std::vector<std::byte> buffer(kReadSize);
  for (IoStatus status = IoStatus::ok; status == IoStatus::ok;) {
    const Io io = co_await stream.read(buffer);
    require(io.status != IoStatus::ok || (io.bytes > 0 && io.bytes <= buffer.size()),
            "a read fits its buffer");
    status = io.status;
  }
}

/// As the relay does it: frame headers are written into the bytes before.
Task<void> echo(Stream& stream) {
  std::vector<std::byte> buffer(kHeadroom + kReadSize);
  for (;;) {
    const Io io = co_await stream.read(std::span(buffer).subspan(kHeadroom));
    if (io.status != IoStatus::ok) break;
    const Chunk chunk{buffer.data() + kHeadroom, io.bytes, true};
    const IoStatus written = co_await stream.write(chunk);
    if (written != IoStatus::ok) co_return;
  }
  std::ignore = co_await stream.finish();
}

Task<void> write_long(Stream& stream) {
  std::vector<std::byte> bytes(kHeadroom + kLongAnswer);
  const Chunk chunk{bytes.data() + kHeadroom, kLongAnswer, true};
  std::ignore = co_await stream.write_last(chunk);
}

/// Begins to write and is gone before that is over.
Task<void> drop_while_writing(Loop& loop, Stream& stream) {
  TaskSet writing(loop);
  writing.spawn(write_long(stream));
  for (int i = 0; i < kTurnsPerPiece; ++i) co_await next_turn(loop);
  writing.clear();
  stream.abort(farport::Error{"write to", "the peer", "the other end gave up"});
}

/// What one user of a stream does with it.
Task<void> use(Loop& loop, std::unique_ptr<Http2Stream> stream, int way) {
  switch (way % kRequests) {
    case 0:
      co_return;
    case 1:
      co_return co_await read_to_end(*stream);
    case 2:
      co_return co_await echo(*stream);
    case 3:
      co_return co_await write_long(*stream);
    case 4:
      co_return co_await drop_while_writing(loop, *stream);
    default:
      co_await stream->gone();
      co_await read_to_end(*stream);
  }
}

Task<void> answer(Loop& loop, std::unique_ptr<Http2Stream> request, int way) {
  check_head(request->head(), true);
  if (way % 2 == 0) {
    co_await farport::test::respond(*request, 200, request->head().path);
    co_return;
  }
  request->respond(200, {}, true);
  co_await use(loop, std::move(request), way / 2);
}

Task<void> ask(Loop& loop, std::unique_ptr<Http2Stream> request, int way) {
  if (request == nullptr) co_return;
  const IoStatus head = co_await request->head_received();
  if (head == IoStatus::ok) check_head(request->head(), false);
  co_await use(loop, std::move(request), way);
}

/// Some turns of the loop, in which a write that waits is taken.
Task<void> let_work(Loop& loop, FedStream& stream) {
  for (int i = 0; i < kTurnsPerPiece; ++i) {
    co_await next_turn(loop);
    stream.take_write();
  }
}

/// Hands the input over piece by piece, after the session has said what it says of itself.
Task<void> feed(Loop& loop, FedStream& stream, std::span<const std::byte> input, std::size_t piece,
                bool rest_at_once) {
  co_await let_work(loop, stream);
  while (!input.empty()) {
    const std::size_t size = std::min(piece, input.size());
    stream.feed(input.first(size));
    input = input.subspan(size);
    co_await let_work(loop, stream);
    if (rest_at_once) piece = input.size();
  }
  stream.end();
}

Task<void> run(Loop& loop, unsigned ways, std::size_t piece, std::span<const std::byte> input) {
  const bool client = (ways & kClient) != 0;
  const FedStream::Ways stream_ways{client, (ways & kSlowWrites) != 0, (ways & kFails) != 0};
  auto lower = std::make_unique<FedStream>(loop, stream_ways);
  FedStream& stream = *lower;
  TaskSet users(loop);
  Parties parties(loop, std::chrono::seconds(1), 1U << 30U);
  int requests = 0;
  const Http2Session::RequestHandler handler = [&](std::unique_ptr<Http2Stream> request) {
    users.spawn(answer(loop, std::move(request), requests++));
  };
  Http2Session session(std::move(lower), client ? Http2Session::Role::client : Http2Session::Role::server,
                       parties.party("fuzz"), limits(), handler);
  for (int way = 0; client && way < kRequests; ++way) {
    const HeaderFields none;
    users.spawn(ask(loop, session.request("POST", "/v1/runtimes", "agent", none, way % 2 == 0), way));
  }
  TaskSet feeding(loop);
  feeding.spawn(feed(loop, stream, input, piece, (ways & kRestAtOnce) != 0));
  const farport::Result<void> ended = co_await session.run();
  require(!ended && !ended.error().why.empty(), "a session ends with a cause");
  // Once it has ended all its streams have: nobody waits for ever.
  co_await users.idle();
  require(session.request("GET", "/", "agent", {}, false) == nullptr,
          "a session that has ended takes nothing");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::span<const std::byte> input = std::as_bytes(std::span(data, size));
  Loop loop;
  loop.run(run(loop, data[0], 1 + std::size_t{data[1]}, input.subspan(2)));
  return 0;
}
