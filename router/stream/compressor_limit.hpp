// How many compressors an agent has at once: each takes memory, however little goes through it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace farport::router {

class CompressorLimit {
 public:
  /// What one takes about, with what it writes into, in bytes.
  static constexpr std::uint64_t kBytesOfOne = 1536 * 1024;

  explicit CompressorLimit(std::size_t most) : most_(most) {}
  CompressorLimit(const CompressorLimit&) = delete;
  CompressorLimit& operator=(const CompressorLimit&) = delete;

  /// As many as take a third of what callers may make the agent hold, in bytes; one at least.
  [[nodiscard]] static std::size_t most_beside(std::uint64_t buffered_bytes) {
    return std::max<std::size_t>(buffered_bytes / 3 / kBytesOfOne, 1);
  }

  [[nodiscard]] bool reached() const { return taken_ >= most_; }

  /// One compressor's, from its making to its end. Must not outlive the limit.
  class Place {
   public:
    explicit Place(CompressorLimit& limit) : limit_(limit) { ++limit_.taken_; }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { --limit_.taken_; }

   private:
    CompressorLimit& limit_;
  };

 private:
  std::size_t most_;
  std::size_t taken_ = 0;
};

}  // namespace farport::router
