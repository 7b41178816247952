#include "router/stream/decompressing_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace farport::router {
namespace {

using transport::Io;
using transport::IoStatus;

constexpr std::size_t kInput = 16 * 1024;
/// Steps that bring nothing before everybody else gets a turn: frames may be empty, as many as there are.
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

/// Bytes as they came, those first that were read ahead.
Io DecompressingStream::take(std::span<std::byte> into) {
  if (unread_.empty()) return lower_.try_read(into);
  const std::size_t size = std::min(unread_.size(), into.size());
  std::memcpy(into.data(), unread_.data(), size);
  unread_ = unread_.subspan(size);
  return {IoStatus::ok, size};
}

/// ok without bytes: go on in the next state.
Io DecompressingStream::read_header() {
  while (header_size_ < header_.size()) {
    const Io io = take(std::span(header_).subspan(header_size_));
    // One kind of frame is shorter than a header: a skippable one with nothing in it (RFC 8878
    // section 3.1.2).
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
  lower_.abort(Error{"decompress", "what the agent sent", std::move(why), {}, EPROTO});
  return {IoStatus::failed, 0};
}

}  // namespace farport::router
