// CompressedBytes: bytes that are kept in memory for a while, and hardly read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace farport::router {

struct CompressedBytes {
  std::vector<std::byte> bytes;
  std::size_t plain_size = 0;  ///< Before compression; 0 if they are not compressed.

  static constexpr std::size_t kMostGain = 256;

  /// Compresses them, if that makes them smaller. They must not be compressed yet.
  void compress();
  /// The bytes as they were before.
  [[nodiscard]] std::vector<std::byte> plain() const;
  /// What they count as: their memory, but at least a 256th of what they were, so that reading all that is
  /// kept takes a limited time whatever it is.
  [[nodiscard]] std::size_t size() const { return std::max(bytes.size(), plain_size / kMostGain); }
  [[nodiscard]] bool empty() const { return bytes.empty(); }
};

}  // namespace farport::router
