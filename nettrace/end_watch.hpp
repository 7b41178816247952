// Whether a stream comes whole, without reading what is in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nettrace/framing.hpp"

namespace farport::nettrace {

/// Follows the blocks of a stream as its bytes come. A runtime that ends well, or is told to stop, writes an
/// end behind the last one; one that is killed does not.
class EndWatch {
 public:
  void take(BytesView bytes);
  /// Whether the stream has begun.
  [[nodiscard]] bool begun() const { return offset_ > 0; }
  /// To be asked when no more bytes come: whether the end is missing. Not of what is no stream.
  [[nodiscard]] bool breaks_off() const { return !ended_ && !unreadable_; }

 private:
  void take_head();

  Framing framing_;
  std::uint64_t offset_ = 0;     ///< Of the frame whose head is being waited for.
  std::vector<std::byte> head_;  ///< What has come of it.
  std::size_t takes_ = 1;        ///< How many bytes of it there must be to go on.
  std::size_t skip_ = 0;         ///< Bytes that are still to come of the frame before.
  bool ended_ = false;
  bool unreadable_ = false;
};

}  // namespace farport::nettrace
