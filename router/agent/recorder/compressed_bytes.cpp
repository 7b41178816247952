#include "router/agent/recorder/compressed_bytes.hpp"

#include <tuple>
#include <utility>

#include <zstd.h>

namespace farport::router {
namespace {

constexpr int kCompressionLevel = 3;

}  // namespace

void CompressedBytes::compress() {
  std::vector<std::byte> into(ZSTD_compressBound(bytes.size()));
  const std::size_t size =
      ZSTD_compress(into.data(), into.size(), bytes.data(), bytes.size(), kCompressionLevel);
  if (ZSTD_isError(size) == 0 && size < bytes.size()) {
    plain_size = bytes.size();
    into.resize(size);
    bytes = std::move(into);
  }
  bytes.shrink_to_fit();
}

std::vector<std::byte> CompressedBytes::plain() const {
  if (plain_size == 0) return bytes;
  std::vector<std::byte> plain(plain_size);
  // It can't fail: nobody else has touched the bytes.
  std::ignore = ZSTD_decompress(plain.data(), plain.size(), bytes.data(), bytes.size());
  return plain;
}

}  // namespace farport::router
