// A block of the stream, whatever is around it.
#pragma once

#include <cstdint>

#include "nettrace/cursor.hpp"

namespace farport::nettrace {

/// The numbers are those of format 6 ("Blocks"). Formats 4 and 5 have names for them.
enum class BlockKind : std::uint8_t {
  end = 0,
  trace = 1,
  events = 2,
  metadata = 3,
  sequence_point = 4,
  stacks = 5,
  threads = 6,
  removed_threads = 7,
  labels = 8,
  unknown = 255,  ///< To be skipped.
};

struct Block {
  BlockKind kind = BlockKind::unknown;
  Cursor content;
};

}  // namespace farport::nettrace
