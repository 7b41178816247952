#include "router/stream/compressing_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

namespace farport::router {
namespace {

constexpr int kLargestWindowLog = 23;

}  // namespace

ZstdCompressor::ZstdCompressor(int level) : context_(ZSTD_createCCtx()) {
  if (context_ == nullptr) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
}

void ZstdCompressor::limit_memory(int window_log, int table_log) {
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_windowLog, window_log);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_hashLog, table_log);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_chainLog, table_log);
}

void ZstdCompressor::add_checksums() {
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
}

Result<ZstdStep> ZstdCompressor::step(std::span<const std::byte> in, std::span<std::byte> out, Then then) {
  static constexpr ZSTD_EndDirective kDirectives[] = {ZSTD_e_continue, ZSTD_e_flush, ZSTD_e_end};
  ZSTD_inBuffer input{in.data(), in.size(), 0};
  ZSTD_outBuffer output{out.data(), out.size(), 0};
  const std::size_t left =
      ZSTD_compressStream2(context_.get(), &output, &input, kDirectives[static_cast<std::size_t>(then)]);
  if (ZSTD_isError(left) != 0) return fail("compress", "what is sent", ZSTD_getErrorName(left));
  return ZstdStep{input.pos, output.pos, then != Then::more && left == 0};
}

ZstdDecompressor::ZstdDecompressor() : context_(ZSTD_createDCtx()) {
  if (context_ == nullptr) throw std::bad_alloc();
  ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kLargestWindowLog);
}

/// Whether a frame begins as RFC 8878 says (sections 3.1.1 and 3.1.2). The library may also read older
/// formats, whose windows it does not limit.
bool ZstdDecompressor::begins_well(std::span<const std::byte> in) const {
  constexpr std::uint32_t kFrame = 0xFD2FB528;
  constexpr std::uint32_t kSkippable = 0x184D2A50;
  constexpr std::uint32_t kAnySkippable = 0xF;
  std::uint32_t magic = 0;
  for (std::size_t i = 0; i < kMagicBytes; ++i) {
    if (i >= magic_bytes_ + in.size()) return true;  // Not known yet.
    const std::byte next = i < magic_bytes_ ? magic_[i] : in[i - magic_bytes_];
    magic |= std::to_integer<std::uint32_t>(next) << (8 * i);
  }
  return magic == kFrame || (magic & ~kAnySkippable) == kSkippable;
}

void ZstdDecompressor::note_taken(std::span<const std::byte> taken) {
  for (const std::byte each : taken.first(std::min(taken.size(), kMagicBytes - magic_bytes_))) {
    magic_[magic_bytes_++] = each;
  }
}

Result<ZstdStep> ZstdDecompressor::step(std::span<const std::byte> in, std::span<std::byte> out) {
  if (!begins_well(in)) return fail("decompress", "what the agent sent", "it is no zstd frame");
  ZSTD_inBuffer input{in.data(), in.size(), 0};
  ZSTD_outBuffer output{out.data(), out.size(), 0};
  const std::size_t left = ZSTD_decompressStream(context_.get(), &output, &input);
  if (ZSTD_isError(left) != 0) return fail("decompress", "what the agent sent", ZSTD_getErrorName(left));
  note_taken(in.first(input.pos));
  if (left == 0) magic_bytes_ = 0;
  return ZstdStep{input.pos, output.pos, left == 0};
}

namespace {

using Seconds = std::chrono::duration<double>;

/// The length of the window over which the network is judged.
constexpr Seconds kWindow{0.1};
/// The network is the bottleneck if this part of the time was spent waiting for it.
constexpr double kBusy = 0.5;
/// Above this rate, in bytes/s, the network is hardly slower than compression.
constexpr double kFast = 40e6;
/// Below this rate, in bytes/s, the thorough level is worth its time.
constexpr double kSlow = 8e6;
/// Stop compressing after this many windows in which the network kept up.
constexpr int kCalm = 10;
/// If compression saves less than a tenth this many times in a row, stop it for a while.
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

/// The most bytes in one piece: the space of a buffer.
constexpr std::size_t kMaxPerPiece = transport::BufferPool::kSpace;
static_assert(kMaxPerPiece <= raw_frame::kMaxFrameBytes);
/// A window of 256 KiB, which both sides keep. A larger one hardly makes traces smaller.
constexpr int kWindowLog = 18;
/// With its usual tables, the thorough level would need 7 MiB and twice the time to make a trace 1 % smaller.
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

/// Returns true when all is written, or the lower stream has failed.
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
  const std::size_t size = std::min(write_->chunk.size, kMaxPerPiece);
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
    // A buffer has room for the header in front.
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

/// Compresses the next bytes. Ends the frame if what follows is not to be compressed.
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

namespace {

using transport::Io;

constexpr std::size_t kInput = 16 * 1024;
/// Steps without output before others get a turn. A peer may send any number of empty frames.
constexpr int kStepsPerTurn = 64;

}  // namespace

Io DecompressingStream::try_read(std::span<std::byte> into) {
  for (int steps = 0; steps < kStepsPerTurn; ++steps) {
    Io io;
    if (state_ == State::header) {
      io = read_header();
    } else {
      io = state_ == State::raw ? read_raw(into) : read_frame(into);
    }
    if (io.status == IoStatus::end && (state_ != State::header || header_size_ > 0)) {
      return broken("it ends in the middle of a frame");
    }
    if (io.status != IoStatus::ok || io.bytes > 0) return io;
  }
  gave_way_ = true;
  return {IoStatus::would_block, 0};
}

void DecompressingStream::when_readable(transport::Wake* wake) {
  if (wake != nullptr && (output_waits_ || !unread_.empty() || std::exchange(gave_way_, false))) {
    lower_.when_readable(nullptr);
    wake->wake();
    return;
  }
  lower_.when_readable(wake);
}

/// Takes received bytes, first those that were read ahead.
Io DecompressingStream::take(std::span<std::byte> into) {
  if (unread_.empty()) return lower_.try_read(into);
  const std::size_t size = std::min(unread_.size(), into.size());
  std::memcpy(into.data(), unread_.data(), size);
  unread_ = unread_.subspan(size);
  return {IoStatus::ok, size};
}

/// Returns ok without bytes to go on in the next state.
Io DecompressingStream::read_header() {
  while (header_size_ < header_.size()) {
    const Io io = take(std::span(header_).subspan(header_size_));
    // Only one kind of frame is shorter than a header: an empty skippable one (RFC 8878 section 3.1.2).
    if (io.status == IoStatus::end && header_size_ > 0) break;
    if (io.status != IoStatus::ok) return io;
    header_size_ += io.bytes;
  }
  const std::size_t got = std::exchange(header_size_, 0);
  const auto size = got == header_.size() ? raw_frame::size_of(header_) : std::nullopt;
  if (size) {
    raw_left_ = *size;
    if (raw_left_ > 0) state_ = State::raw;
    return {IoStatus::ok, 0};
  }
  state_ = State::frame;
  if (!decompressor_) decompressor_.emplace();
  const auto begin = static_cast<std::ptrdiff_t>(got);
  input_.insert(input_.begin(), header_.begin(), header_.begin() + begin);
  input_.erase(input_.begin() + begin, input_.end() - static_cast<std::ptrdiff_t>(unread_.size()));
  unread_ = input_;
  return {IoStatus::ok, 0};
}

Io DecompressingStream::read_raw(std::span<std::byte> into) {
  const Io io = take(into.first(std::min(into.size(), raw_left_)));
  raw_left_ -= io.bytes;
  if (raw_left_ == 0) state_ = State::header;
  return io;
}

Io DecompressingStream::read_frame(std::span<std::byte> into) {
  if (unread_.empty() && !output_waits_) {
    input_.resize(kInput);
    const Io io = lower_.try_read(input_);
    input_.resize(io.bytes);
    unread_ = input_;
    if (io.status != IoStatus::ok) return io;
  }
  const auto step = decompressor_->step(unread_, into);
  if (!step) return broken(step.error().why);
  unread_ = unread_.subspan(step->taken);
  output_waits_ = !step->ended && step->made == into.size();
  if (step->ended) state_ = State::header;
  return {IoStatus::ok, step->made};
}

Io DecompressingStream::broken(std::string why) {
  lower_.abort(Error{"decompress", "what the agent sent", std::move(why), {}, Cause(EPROTO)});
  return {IoStatus::failed, 0};
}

}  // namespace farport::router
