#include "tests/fuzz/fed_stream.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "tests/fuzz/target.hpp"

namespace farport::fuzz {

using transport::Io;
using transport::IoStatus;
using transport::Wake;
using transport::WriteOperation;

namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::size_t kMaxFedPayload = 16384;  // What a peer must take before it says otherwise.
constexpr std::size_t kLengthSize = 3;
constexpr unsigned kLastType = 9;  // CONTINUATION

}  // namespace

FrameChecker::FrameChecker(bool preface) : skip_(preface ? kPreface.size() : 0) {}

void FrameChecker::take(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t skipped = std::min(skip_, bytes.size());
    skip_ -= skipped;
    bytes = bytes.subspan(skipped);
    const std::size_t more = std::min(header_.size() - header_size_, bytes.size());
    std::copy_n(bytes.begin(), more, header_.begin() + static_cast<std::ptrdiff_t>(header_size_));
    header_size_ += more;
    bytes = bytes.subspan(more);
    if (header_size_ < header_.size()) continue;
    check_header();
    header_size_ = 0;
    for (std::size_t i = 0; i < kLengthSize; ++i)
      skip_ = skip_ << 8U | std::to_integer<std::size_t>(header_[i]);
    require(skip_ <= kMaxFedPayload, "no frame is longer than the peer takes");
  }
}

void FrameChecker::check_header() const {
  require(std::to_integer<unsigned>(header_[kLengthSize]) <= kLastType,
          "frames are written one after another");
  require((header_[5] & std::byte{0x80}) == std::byte{0}, "the reserved bit is not set");
}

void FedStream::feed(std::span<const std::byte> bytes) {
  fed_ = bytes;
  wake_reader();
}

void FedStream::end() {
  if (ways_.fails) return abort(Error{"read from", "the fuzzer", "it fails"});
  ended_ = true;
  wake_reader();
  if (Wake* wake = std::exchange(gone_wake_, nullptr)) wake->wake();
}

void FedStream::wake_reader() {
  if (Wake* wake = std::exchange(read_wake_, nullptr)) wake->wake();
}

void FedStream::take_write() {
  WriteOperation* operation = std::exchange(write_, nullptr);
  if (operation == nullptr) return;
  checker_.take({operation->chunk.data, operation->chunk.size});
  operation->chunk.advance(operation->chunk.size);
  operation->complete();
}

Io FedStream::try_read(std::span<std::byte> into) {
  if (const std::size_t size = std::min(fed_.size(), into.size()); size > 0) {
    std::memcpy(into.data(), fed_.data(), size);
    fed_ = fed_.subspan(size);
    return {IoStatus::ok, size};
  }
  if (error_) return {IoStatus::failed, 0};
  return {ended_ ? IoStatus::end : IoStatus::would_block, 0};
}

void FedStream::when_readable(Wake* wake) {
  read_wake_ = wake;
  if (!fed_.empty() || ended_ || error_) wake_reader();
}

bool FedStream::begin_write(WriteOperation& operation) {
  require(write_ == nullptr, "there is one write at a time");
  if (error_) {
    operation.status = IoStatus::failed;
    return true;
  }
  if (ways_.slow_writes) {
    write_ = &operation;
    return false;
  }
  checker_.take({operation.chunk.data, operation.chunk.size});
  operation.chunk.advance(operation.chunk.size);
  return true;
}

void FedStream::when_gone(Wake* wake) {
  gone_wake_ = wake;
  if (wake != nullptr && (ended_ || error_)) std::exchange(gone_wake_, nullptr)->wake();
}

void FedStream::abort(Error why) {
  if (error_) return;
  error_ = std::move(why);
  wake_reader();
  if (Wake* wake = std::exchange(gone_wake_, nullptr)) wake->wake();
  WriteOperation* operation = std::exchange(write_, nullptr);
  if (operation == nullptr) return;
  operation->status = IoStatus::failed;
  operation->complete();
}

}  // namespace farport::fuzz
