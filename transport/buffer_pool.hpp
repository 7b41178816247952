// Pooled buffers for data in transit, so that an idle connection holds none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace farport::transport {

/// Bytes kept free in front of a payload for its frame header (RFC 9113 section 4.1).
inline constexpr std::size_t kHeadroom = 9;
/// Bytes kept free in front of that for a header of the payload's encoding.
inline constexpr std::size_t kEncodingHeadroom = 9;
/// The largest payload whose frame, with its header, fills exactly one TLS record of 16,384 bytes.
inline constexpr std::size_t kMaxPayload = 16384 - kHeadroom;
/// Bytes that TLS 1.3 adds to a record's plaintext (RFC 8446 section 5.2): header, type, and the tag of
/// AES-GCM or ChaCha20-Poly1305.
inline constexpr std::size_t kRecordOverhead = 5 + 1 + 16;
/// The largest TCP segment over loopback: its MTU less the headers of IPv6 and of TCP with timestamps (RFC
/// 7323 section 3.2).
inline constexpr std::size_t kLoopbackSegment = 65536 - 40 - 32;

class BufferPool;

/// A buffer borrowed from a BufferPool, with headroom in front of its space. The destructor returns it to the
/// pool. A moved-from buffer is empty.
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

/// Hands out buffers and keeps some free ones. Must outlive its buffers.
class BufferPool {
 public:
  /// Four frames, so that a busy stream needs one read(2) for four records, but no more than fit one loopback
  /// segment. A hundred bytes more would cost as much as a second segment.
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

  /// Frees the buffers that nobody uses.
  void free_unused() {
    free_.clear();
    free_.shrink_to_fit();
  }

 private:
  friend class Buffer;
  /// Free buffers that are kept, 1 MiB in all. An acknowledgement returns many buffers at once, and
  /// they are soon needed again; fresh memory would cost a page fault per page.
  static constexpr std::size_t kKeptFree = 16;

  /// Keeps at most max(kKeptFree, buffers on loan) free, so that little memory is held when traffic stops.
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
