// What a sender keeps until it knows that the peer has it, to send it again if the connection breaks.
#pragma once

#include <cstdint>
#include <list>
#include <memory>

#include "transport/stream.hpp"

namespace farport::transport {

/// Bytes of a stream by their place in it, from the first that has not been acknowledged to the last that
/// has been written. Full buffers are kept as they are; less is copied, so that little bytes don't hold large
/// buffers. Sending and acknowledging take a time in proportion to what is sent or acknowledged, however much
/// is kept; rewinding, to what is kept.
class RetransmitBuffer {
 public:
  RetransmitBuffer() = default;
  RetransmitBuffer(const RetransmitBuffer&) = delete;
  RetransmitBuffer& operator=(const RetransmitBuffer&) = delete;

  /// Keeps the bytes of a write at the end. May take the buffer away that holds them.
  void keep(WriteOperation& operation);
  /// The next bytes to be sent that lie in one piece. They stay where they are until they have been sent and
  /// acknowledged. Empty where all has been sent.
  [[nodiscard]] Chunk unsent() const;
  /// So many of them, at most all, have been sent.
  void advance(std::size_t bytes);
  /// Forgets what comes before this place, but nothing that has not been sent: a peer may say what it likes,
  /// and what is being sent must stay.
  void acknowledge(std::uint64_t place);
  /// Sends from this place on, which must not have been acknowledged, nor be beyond the end.
  void rewind(std::uint64_t place);
  /// Forgets everything. Nothing of it may be being sent.
  void clear();

  /// The first byte that has not been acknowledged.
  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  /// The first byte that has not been sent.
  [[nodiscard]] std::uint64_t sent() const { return sent_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  /// What it takes, in bytes: many small writes take more than what they hold.
  [[nodiscard]] std::uint64_t memory() const { return end_ - begin_ + pieces_.size() * kPieceBytes; }

 private:
  /// A piece's place in the list and its allocations.
  static constexpr std::uint64_t kPieceBytes = 128;

  struct Piece {
    std::uint64_t place;  ///< Of its first byte.
    Chunk bytes;
    Buffer buffer;                      ///< That they are in, or
    std::unique_ptr<std::byte[]> copy;  ///< with headroom in front.

    [[nodiscard]] std::uint64_t end() const { return place + bytes.size; }
  };
  using Pieces = std::list<Piece>;

  Pieces pieces_;
  Pieces::iterator next_ = pieces_.end();  ///< With the first byte that has not been sent.
  std::uint64_t begin_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace farport::transport
