// zstd as a stream (RFC 8878), with owned contexts.
#pragma once

#include <array>
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
