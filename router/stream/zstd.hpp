// zstd as a stream (RFC 8878), with owned contexts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <zstd.h>

#include "base/error.hpp"
#include "transport/buffer_pool.hpp"

namespace farport::router {

/// What a step has taken from the input and put into the output.
struct ZstdStep {
  std::size_t taken = 0;
  std::size_t made = 0;
  bool ended = false;  ///< Compressing: all that was to be flushed is out. Decompressing: the frame is whole.
};

class ZstdCompressor {
 public:
  /// What comes after the input of a step.
  enum class Then {
    more,   ///< Input that it may wait for.
    flush,  ///< Nothing for now: the peer gets all there is.
    end,    ///< Nothing: the frame is ended. Another begins with the next step.
  };

  /// `level`: as ZSTD_c_compressionLevel; below zero is faster still.
  explicit ZstdCompressor(int level);
  /// The window of the frames to come, as ZSTD_c_windowLog, which both sides need as memory, and the tables
  /// to search it by, as ZSTD_c_hashLog and ZSTD_c_chainLog.
  void limit_memory(int window_log, int table_log);
  /// Compresses some of `in` into `out`. To flush or end, call it until it has ended.
  [[nodiscard]] Result<ZstdStep> step(std::span<const std::byte> in, std::span<std::byte> out, Then then);

 private:
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  std::unique_ptr<ZSTD_CCtx, Free> context_;
};

class ZstdDecompressor {
 public:
  ZstdDecompressor();
  /// Decompresses some of `in` into `out`. Errors: this is not zstd, is damaged, or wants a window of more
  /// than 8 MiB, the largest that a receiver has to offer (RFC 8878 section 3.1.1.1.2).
  [[nodiscard]] Result<ZstdStep> step(std::span<const std::byte> in, std::span<std::byte> out);

 private:
  static constexpr std::size_t kMagicBytes = 4;

  [[nodiscard]] bool begins_well(std::span<const std::byte> in) const;
  void note_taken(std::span<const std::byte> taken);

  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context_;
  std::array<std::byte, kMagicBytes> magic_{};  ///< What the frame under way begins with,
  std::size_t magic_bytes_ = 0;                 ///< as far as it has come.
};

}  // namespace farport::router

namespace farport::router::raw_frame {

// A zstd frame of one block that is not compressed (RFC 8878 sections 3.1.1 and 3.1.1.2): how bytes that are
// not worth compressing go into a body with content-encoding zstd.

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
