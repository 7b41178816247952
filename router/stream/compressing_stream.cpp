#include "router/stream/compressing_stream.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "router/stream/zstd.hpp"

namespace farport::router {
namespace {

using Seconds = std::chrono::duration<double>;

/// How long is looked at, at once.
constexpr Seconds kWindow{0.1};
/// The network is the bottleneck if this part of the time was spent waiting for it.
constexpr double kBusy = 0.5;
/// A network that takes more than this, in bytes/s, is hardly slower than compressing.
constexpr double kFast = 40e6;
/// One that takes less is worth the thorough level.
constexpr double kSlow = 8e6;
/// So many windows without waiting end it.
constexpr int kCalm = 10;
/// What saves less than a tenth, so many times in a row, is left alone.
constexpr int kPoor = 3;
constexpr std::size_t kShortestRest = std::size_t{1} << 20;
constexpr std::size_t kLongestRest = std::size_t{64} << 20;

}  // namespace

void CompressionPolicy::compressed(std::size_t before, std::size_t after) {
  if (after < before - before / 10) {
    failures_ = 0;
    backoff_bytes_ = 0;
    return;
  }
  if (++failures_ < kPoor || mode_ == Compression::always) return;
  failures_ = 0;
  backoff_bytes_ = std::clamp(backoff_bytes_ * 2, kShortestRest, kLongestRest);
  plain_bytes_left_ = backoff_bytes_;
}

void CompressionPolicy::plain(std::size_t bytes) {
  plain_bytes_left_ -= std::min(plain_bytes_left_, bytes);
}

void CompressionPolicy::sent(std::size_t bytes, Clock::time_point begun, Clock::time_point done) {
  if (bytes_ == 0) since_ = begun;
  bytes_ += bytes;
  waited_ += done - begun;
  const Seconds seconds = done - since_;
  if (seconds >= kWindow) update(seconds.count());
}

void CompressionPolicy::update(double seconds) {
  const double rate = static_cast<double>(bytes_) / seconds;
  const bool waits = Seconds(waited_).count() >= kBusy * seconds && rate < kFast;
  level_ = rate < kSlow ? kThoroughLevel : kQuickLevel;
  idle_windows_ = waits ? 0 : idle_windows_ + 1;
  if (waits) worthwhile_ = true;
  if (idle_windows_ >= kCalm && mode_ == Compression::automatic) worthwhile_ = false;
  bytes_ = 0;
  waited_ = {};
}

namespace {

using transport::Chunk;
using transport::IoStatus;

/// What one piece is made of at most: a buffer's space.
constexpr std::size_t kMostPerPiece = transport::BufferPool::kSpace;
static_assert(kMostPerPiece <= raw_frame::kMostBytes);
/// 256 KiB: what both sides keep to compress with. More helps traces little.
constexpr int kWindowLog = 18;
/// With the usual tables the thorough level would take 7 MiB, and twice the time, to make 1 % less of a
/// trace.
constexpr int kTableLog = 16;

}  // namespace

CompressingStream::~CompressingStream() {
  if (write_ != nullptr) lower_.cancel_write();
}

bool CompressingStream::begin_write(transport::WriteOperation& operation) {
  if (operation.chunk.size == 0 && !operation.finish) return true;
  write_ = &operation;
  if (!write_pieces()) return false;
  write_ = nullptr;
  return true;
}

void CompressingStream::cancel_write() {
  lower_.cancel_write();
  write_ = nullptr;
}

void CompressingStream::complete() {
  choice_.sent(sending_, begun_, CompressionPolicy::Clock::now());
  if (!frame_) encoded_ = {};
  if (!write_pieces()) return;
  std::exchange(write_, nullptr)->complete();
}

/// True when all is taken, or the lower stream has failed.
bool CompressingStream::write_pieces() {
  while (status == IoStatus::ok && (write_->chunk.size > 0 || (write_->finish && !WriteOperation::finish))) {
    next_piece();
    if (!lower_.begin_write(*this)) return false;
  }
  write_->status = status;
  return true;
}

void CompressingStream::next_piece() {
  begun_ = CompressionPolicy::Clock::now();
  holder = nullptr;
  const std::size_t size = std::min(write_->chunk.size, kMostPerPiece);
  WriteOperation::finish = write_->finish && size == write_->chunk.size;
  if (size == 0 && !frame_) {
    chunk = Chunk{};
  } else if (frame_ || begins_frame()) {
    compress(size);
  } else {
    frame_as_it_is(size);
  }
  write_->chunk.advance(size);
  sending_ = chunk.size;
}

void CompressingStream::frame_as_it_is(std::size_t size) {
  choice_.plain(size);
  const raw_frame::Header header = raw_frame::header(size);
  if (write_->holder != nullptr && size == write_->chunk.size) {
    // A buffer has room for it in front.
    std::byte* const begin = write_->chunk.data - header.size();
    std::memcpy(begin, header.data(), header.size());
    chunk = Chunk{begin, header.size() + size, true};
    holder = write_->holder;
    return;
  }
  encoded_.resize(transport::kHeadroom + header.size() + size);
  std::memcpy(payload(), header.data(), header.size());
  std::memcpy(payload() + header.size(), write_->chunk.data, size);
  send_encoded(header.size() + size);
}

/// Ends the frame where the next bytes go as they are.
void CompressingStream::compress(std::size_t size) {
  if (!frame_) {
    frame_.emplace(limit_, choice_.level());
    frame_->compressor.limit_memory(kWindowLog, kTableLog);
  }
  const bool goes_on = choice_.compress() && !WriteOperation::finish;
  const auto then = goes_on ? ZstdCompressor::Then::flush : ZstdCompressor::Then::end;
  std::span<const std::byte> in(write_->chunk.data, size);
  encoded_.resize(transport::kHeadroom + ZSTD_compressBound(size));
  std::size_t made = 0;
  for (bool ended = false; !ended;) {
    const auto step =
        frame_->compressor.step(in, std::span(encoded_).subspan(transport::kHeadroom + made), then);
    if (!step) return lower_.abort(step.error());
    in = in.subspan(step->taken);
    made += step->made;
    ended = step->ended;
    if (!ended) encoded_.resize(encoded_.size() + size / 2 + 1024);
  }
  if (!goes_on) frame_.reset();
  choice_.compressed(size, made);
  send_encoded(made);
}

void CompressingStream::send_encoded(std::size_t size) {
  chunk = Chunk{payload(), size, true};
}

}  // namespace farport::router
