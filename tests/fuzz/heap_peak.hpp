// How much memory a piece of work has needed at most: for promises that what is kept is bounded by what came.
#pragma once

#include <cstddef>

namespace farport::fuzz {

/// Measures from its construction on. One at a time.
class HeapPeak {
 public:
  HeapPeak();
  /// How many bytes there have been at most, beyond those at the beginning. 0 in builds without
  /// AddressSanitizer, which is what counts.
  [[nodiscard]] std::size_t bytes() const;
};

}  // namespace farport::fuzz
