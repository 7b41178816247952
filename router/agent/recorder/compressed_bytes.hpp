// CompressedBytes: bytes that are kept in memory for a while, and hardly read.
#pragma once

#include <cstddef>
#include <vector>

namespace farport::router {

struct CompressedBytes {
  std::vector<std::byte> bytes;
  std::size_t plain_size = 0;  ///< Before compression; 0 if they are not compressed.

  /// Compresses them, if that makes them smaller. They must not be compressed yet.
  void compress();
  /// The bytes as they were before.
  [[nodiscard]] std::vector<std::byte> plain() const;
  [[nodiscard]] std::size_t size() const { return bytes.size(); }
  [[nodiscard]] bool empty() const { return bytes.empty(); }
};

}  // namespace farport::router
