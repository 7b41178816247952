// Buffers for bytes on their way: taken while there is something to carry, given back when it has arrived, so
// that an idle connection holds none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace farport::transport {

/// The room that a frame header needs in front of a payload (RFC 9113 section 4.1: 9 bytes).
inline constexpr std::size_t kHeadroom = 9;
/// The room that a header of the payload's encoding needs in front of that again.
inline constexpr std::size_t kEncodingHeadroom = 9;
/// The payload of a frame that is, with its header, exactly one TLS record: 16,384 bytes.
inline constexpr std::size_t kMaxPayload = 16384 - kHeadroom;
/// What a TLS 1.3 record adds to its plaintext (RFC 8446 section 5.2): header, type, and the tag of AES-GCM
/// or ChaCha20-Poly1305.
inline constexpr std::size_t kRecordOverhead = 5 + 1 + 16;
/// What TCP carries over loopback in one segment: its MTU without the headers of IPv6, and of TCP with
/// timestamps (RFC 7323 section 3.2).
inline constexpr std::size_t kLoopbackSegment = 65536 - 40 - 32;

class BufferPool;

/// A buffer on loan, with headroom in front of its space for the headers. Goes back when destroyed. Empty
/// once it has been moved from.
class Buffer {
 public:
  Buffer() = default;
  Buffer(BufferPool& pool, std::unique_ptr<std::byte[]> bytes) : pool_(&pool), bytes_(std::move(bytes)) {}
  Buffer(Buffer&&) = default;
  Buffer& operator=(Buffer&&) = delete;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  [[nodiscard]] std::span<std::byte> space() const;
  [[nodiscard]] bool empty() const { return bytes_ == nullptr; }

 private:
  BufferPool* pool_ = nullptr;
  std::unique_ptr<std::byte[]> bytes_;
};

/// Outlives its buffers.
class BufferPool {
 public:
  /// Four frames, so that a busy stream costs one read(2) for four records; and no more than makes one
  /// segment over loopback: a hundred bytes above that cost as much as a segment of their own does.
  static constexpr std::size_t kSpace =
      kLoopbackSegment - 4 * (kHeadroom + kRecordOverhead) - kEncodingHeadroom;
  static constexpr std::size_t kFront = kHeadroom + kEncodingHeadroom;

  Buffer take() {
    ++on_loan_;
    if (free_.empty()) return {*this, std::make_unique_for_overwrite<std::byte[]>(kFront + kSpace)};
    std::unique_ptr<std::byte[]> bytes = std::move(free_.back());
    free_.pop_back();
    return {*this, std::move(bytes)};
  }

 private:
  friend class Buffer;
  /// 1 MiB: a peer that acknowledges gives back so much at once, which is soon taken again. Memory from the
  /// system would cost a page fault for each page.
  static constexpr std::size_t kKeptFree = 16;

  /// No more are kept than are on loan, or kKeptFree: little is held once all is still.
  void give_back(std::unique_ptr<std::byte[]> bytes) {
    free_.push_back(std::move(bytes));
    free_.resize(std::min(free_.size(), std::max(kKeptFree, --on_loan_)));
  }

  std::vector<std::unique_ptr<std::byte[]>> free_;
  std::size_t on_loan_ = 0;
};

inline Buffer::~Buffer() {
  if (bytes_ != nullptr) pool_->give_back(std::move(bytes_));
}
inline std::span<std::byte> Buffer::space() const {
  return {bytes_.get() + BufferPool::kFront, BufferPool::kSpace};
}

}  // namespace farport::transport
