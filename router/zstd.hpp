// zstd as a stream (RFC 8878), with owned contexts.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <zstd.h>

#include "base/error.hpp"

namespace farport::router {

/// What a step has taken from the input and put into the output.
struct ZstdStep {
  std::size_t taken = 0;
  std::size_t made = 0;
  bool ended = false;  ///< Compressing: all is out. Decompressing: the frame is whole.
};

class ZstdCompressor {
 public:
  /// `level`: as ZSTD_c_compressionLevel; below zero is faster still.
  explicit ZstdCompressor(int level);
  /// Compresses some of `in` into `out`. With `last`, what follows is nothing: call it until it has ended.
  [[nodiscard]] Result<ZstdStep> step(std::span<const std::byte> in, std::span<std::byte> out, bool last);

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
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context_;
};

}  // namespace farport::router
