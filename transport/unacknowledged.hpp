// What a sender keeps until it knows that the peer has it.
#pragma once

#include <cstdint>
#include <list>
#include <memory>

#include "transport/stream.hpp"

namespace farport::transport {

/// Bytes of a stream by their place in it, from the first that has not been acknowledged to the last that
/// has been written. Full buffers are kept as they are; less is copied, so that little bytes don't hold large
/// buffers.
class Unacknowledged {
 public:
  /// Keeps the bytes of a write at the end. May take the buffer away that holds them.
  void keep(WriteOperation& operation);
  /// Forgets what comes before this place.
  void acknowledge(std::uint64_t place);

  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  /// The bytes from this place on that lie in one piece, to be written. They stay where they are until they
  /// are acknowledged. Empty at the end.
  [[nodiscard]] Chunk from(std::uint64_t place) const;

 private:
  struct Piece {
    std::uint64_t place;  ///< Of its first byte.
    Chunk bytes;
    Buffer buffer;                      ///< That they are in, or
    std::unique_ptr<std::byte[]> copy;  ///< with headroom in front.
  };

  std::list<Piece> pieces_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace farport::transport
