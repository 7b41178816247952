// A zstd frame of one block that is not compressed (RFC 8878 sections 3.1.1 and 3.1.1.2): how bytes that are
// not worth compressing go into a body with content-encoding zstd.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/buffer_pool.hpp"

namespace farport::router::raw_frame {

/// What stands before the bytes.
inline constexpr std::size_t kHeaderSize = transport::kEncodingHeadroom;
using Header = std::array<std::byte, kHeaderSize>;
/// The most bytes that a block may hold, since its window is as large.
inline constexpr std::size_t kMostBytes = std::size_t{1} << 17;

/// Magic number, no options, a window of 128 KiB; then a block of its own type: last (bit 0), raw (bits 1 and
/// 2 are 0), and its size.
[[nodiscard]] constexpr Header header(std::size_t size) {
  const auto block = static_cast<std::uint32_t>(size << 3 | 1);
  return {std::byte{0x28},
          std::byte{0xB5},
          std::byte{0x2F},
          std::byte{0xFD},
          std::byte{0},
          std::byte{0x38},
          std::byte(block & 0xFF),
          std::byte(block >> 8 & 0xFF),
          std::byte(block >> 16 & 0xFF)};
}

/// How many bytes follow, if this is the beginning of such a frame.
[[nodiscard]] constexpr std::optional<std::size_t> size_of(const Header& found) {
  constexpr std::size_t kBlock = 6;
  const std::uint32_t block = std::to_integer<std::uint32_t>(found[kBlock]) |
                              std::to_integer<std::uint32_t>(found[kBlock + 1]) << 8 |
                              std::to_integer<std::uint32_t>(found[kBlock + 2]) << 16;
  const std::size_t size = block >> 3;
  if (size > kMostBytes || found != header(size)) return std::nullopt;
  return size;
}

}  // namespace farport::router::raw_frame
