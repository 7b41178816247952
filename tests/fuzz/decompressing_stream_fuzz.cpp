// Fuzzes what a mirror decompresses. The first byte of an input says how: as it is, or as frames of both
// kinds made of it. The next two say in what pieces it comes, and in what pieces it is read.
#include <algorithm>
#include <string>

#include "router/stream/compressing_stream.hpp"
#include "tests/fuzz/fed_stream.hpp"
#include "tests/fuzz/heap_peak.hpp"
#include "tests/fuzz/target.hpp"
#include "transport/task_set.hpp"

using namespace farport;
using namespace farport::router;
using namespace farport::transport;
using farport::fuzz::FedStream;
using farport::fuzz::HeapPeak;
using farport::fuzz::require;

namespace {

constexpr unsigned kEncode = 1;
constexpr unsigned kFails = 2;

/// A window of 8 MiB is the most that a frame may ask for, and a block's and a table's worth beside it.
constexpr std::size_t kMaxMemory = 10 << 20;
/// What a few bytes can become is without a limit; the rest says nothing new.
constexpr std::size_t kMaxRead = 1 << 20;
constexpr std::size_t kRawBytes = 100;

struct Read {
  std::string bytes;
  bool ended = false;    ///< Properly.
  bool invalid = false;  ///< What is no frame came.
  bool stopped = false;  ///< There may be more.
};

/// What the frames in a row hold, by zstd alone.
Read decode_whole(std::span<const std::byte> input) {
  Read read;
  std::vector<std::byte> part(1 << 16);
  ZstdDecompressor decompressor;
  bool between = true;  // frames
  for (bool full = false; !input.empty() || full;) {
    const auto step = decompressor.step(input, part);
    if (!step) {
      read.invalid = true;
      return read;
    }
    input = input.subspan(step->taken);
    read.bytes.append(reinterpret_cast<const char*>(part.data()), step->made);
    between = step->ended;
    full = step->made == part.size() && !between;
    if (read.bytes.size() > kMaxRead) {
      read.stopped = true;
      return read;
    }
  }
  read.ended = between;
  return read;
}

constexpr int kReadsPerTurn = 16;

Task<Read> read_stream(Stream& stream, std::size_t piece) {
  Read read;
  std::vector<std::byte> part(piece);
  for (int reads = 1;; ++reads) {
    // Without optimization, each read that need not wait takes more of the stack.
    if (reads % kReadsPerTurn == 0) co_await farport::transport::next_turn(stream.loop());
    const Io io = co_await stream.read(part);
    require(io.status != IoStatus::ok || (io.bytes > 0 && io.bytes <= piece), "a read fits its buffer");
    if (io.status != IoStatus::ok) {
      read.ended = io.status == IoStatus::end;
      require(read.ended || !stream.error().why.empty(), "a stream that fails says why");
      co_return read;
    }
    read.bytes.append(reinterpret_cast<const char*>(part.data()), io.bytes);
    if (read.bytes.size() > kMaxRead) {
      read.stopped = true;
      co_return read;
    }
  }
}

Task<void> feed(Loop& loop, FedStream& stream, std::span<const std::byte> input, std::size_t piece) {
  while (!input.empty()) {
    const std::size_t size = std::min(piece, input.size());
    stream.feed(input.first(size));
    input = input.subspan(size);
    // Until it is taken: what is fed next replaces it.
    while (stream.holds_bytes()) co_await next_turn(loop);
  }
  stream.end();
}

Task<void> run(Loop& loop, std::span<const std::byte> input, std::size_t fed, std::size_t asked, bool fails,
               Read& into) {
  FedStream lower(loop, {true, false, fails});
  DecompressingStream stream(lower);
  TaskSet feeding(loop);
  feeding.spawn(feed(loop, lower, input, fed));
  into = co_await read_stream(stream, asked);
}

void append_raw(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  const auto header = raw_frame::header(bytes.size());
  to.insert(to.end(), header.begin(), header.end());
  to.insert(to.end(), bytes.begin(), bytes.end());
}

void append_compressed(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  ZstdCompressor compressor(1);
  std::vector<std::byte> part(1 << 16);
  for (bool ended = false; !ended;) {
    const auto step = compressor.step(bytes, part, ZstdCompressor::Then::end);
    require(step.has_value(), "anything can be compressed");
    bytes = bytes.subspan(step->taken);
    to.insert(to.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(step->made));
    ended = step->ended;
  }
}

/// The bytes as frames, as a CompressingStream makes them: by turns compressed and as they are.
std::vector<std::byte> encode(std::span<const std::byte> bytes) {
  std::vector<std::byte> frames;
  for (bool raw = true; !bytes.empty(); raw = !raw) {
    const auto part = bytes.first(std::min(bytes.size(), raw ? kRawBytes : 3 * kRawBytes));
    if (raw) append_raw(frames, part);
    if (!raw) append_compressed(frames, part);
    bytes = bytes.subspan(part.size());
  }
  return frames;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const unsigned ways = data[0];
  const std::span<const std::byte> given = std::as_bytes(std::span(data, size)).subspan(3);
  const std::vector<std::byte> frames =
      (ways & kEncode) != 0 ? encode(given) : std::vector<std::byte>(given.begin(), given.end());
  const Read whole = decode_whole(frames);
  require((ways & kEncode) == 0 || whole.stopped ||
              (whole.ended && std::ranges::equal(std::as_bytes(std::span(whole.bytes)), given)),
          "what was encoded is decoded to the same");

  const bool fails = (ways & kFails) != 0;
  Read read;
  const HeapPeak peak;
  {
    Loop loop;
    loop.run(run(loop, frames, 1 + std::size_t{data[1]}, 1 + std::size_t{data[2]} * 16, fails, read));
  }
  require(peak.bytes() <= kMaxMemory + 2 * read.bytes.size(), "no more than a window is kept");
  const std::size_t common = std::min(read.bytes.size(), whole.bytes.size());
  require(read.bytes.compare(0, common, whole.bytes, 0, common) == 0,
          "it reads the same in whatever pieces it comes");
  if (read.stopped || whole.stopped) return 0;
  require(!whole.ended || fails || read.bytes.size() == whole.bytes.size(), "it reads all there is");
  // In one piece zstd compares a frame's size with what its header says, in several it doesn't always.
  require(whole.invalid || read.ended == (whole.ended && !fails), "it ends where the frames end");
  return 0;
}
