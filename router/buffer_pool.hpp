// Buffers for the relay: taken while bytes are on their way, given back while nothing is, so that an idle
// diagnostic connection holds none.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "transport/http2_session.hpp"

namespace farport::router {

class BufferPool;

/// A buffer on loan, with headroom in front of its space for a frame header. Goes back when destroyed.
class Buffer {
 public:
  Buffer(BufferPool& pool, std::unique_ptr<std::byte[]> bytes) : pool_(&pool), bytes_(std::move(bytes)) {}
  Buffer(Buffer&&) = default;
  Buffer& operator=(Buffer&&) = delete;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  [[nodiscard]] std::span<std::byte> space() const;
  /// The first `size` bytes of the space, to be written.
  [[nodiscard]] transport::Chunk filled(std::size_t size) const {
    return {bytes_.get() + transport::kHeadroom, size, true};
  }

 private:
  BufferPool* pool_;
  std::unique_ptr<std::byte[]> bytes_;
};

/// Outlives its buffers.
class BufferPool {
 public:
  /// Four full frames, so that a busy stream costs one read(2) for four records.
  static constexpr std::size_t kSpace = 4 * transport::kMaxPayload;

  Buffer take() {
    if (free_.empty())
      return {*this, std::make_unique_for_overwrite<std::byte[]>(transport::kHeadroom + kSpace)};
    std::unique_ptr<std::byte[]> bytes = std::move(free_.back());
    free_.pop_back();
    return {*this, std::move(bytes)};
  }

 private:
  friend class Buffer;
  static constexpr std::size_t kKeptFree = 4;  ///< More are given back to the heap.

  void give_back(std::unique_ptr<std::byte[]> bytes) {
    if (free_.size() < kKeptFree) free_.push_back(std::move(bytes));
  }

  std::vector<std::unique_ptr<std::byte[]>> free_;
};

inline Buffer::~Buffer() {
  if (bytes_ != nullptr) pool_->give_back(std::move(bytes_));
}
inline std::span<std::byte> Buffer::space() const {
  return {bytes_.get() + transport::kHeadroom, BufferPool::kSpace};
}

}  // namespace farport::router
