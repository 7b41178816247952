// Finds the blocks in the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "nettrace/block.hpp"

namespace farport::nettrace {

/// The next thing in the stream, from its first byte on.
struct Frame {
  std::size_t size = 0;  ///< Of the whole, in bytes.
  BlockKind kind = BlockKind::unknown;
  std::size_t content_begin = 0;
  std::size_t content_size = 0;
};

/// What can be said of the next frame by its first bytes: what it is, or how many bytes it takes to say more.
struct Glance {
  std::optional<Frame> frame;
  std::size_t takes = 0;  ///< More than there were; where there is a frame, its size.
};

/// Knows the stream's outermost structure: where it begins ("First Bytes: NetTrace Magic"), and how blocks
/// follow each other. Holds no bytes.
class Framing {
 public:
  /// Looks at the beginning of a frame, which is at `offset` in the stream, as far as it has come. May be
  /// asked again with more of the same, until there is a frame. Fails where this is no stream, and where a
  /// size is beyond the limits.
  [[nodiscard]] Result<Glance> look(BytesView begin, std::uint64_t offset);

  /// 0 until it is known; 4 stands for 5, too, until the Trace object has come.
  [[nodiscard]] std::uint32_t format() const { return format_; }

 private:
  [[nodiscard]] Result<Glance> look_at_preamble(BytesView begin, std::uint64_t offset);
  [[nodiscard]] Result<Glance> look_at_object(BytesView begin, std::uint64_t offset);
  [[nodiscard]] static Result<Glance> look_at_block(BytesView begin, std::uint64_t offset);

  std::uint32_t format_ = 0;
  bool in_object_ = false;  ///< Formats 4 and 5: the end of the last one has not come yet.
};

}  // namespace farport::nettrace
