// CompressingStream: sends bytes as zstd (RFC 8878), compressed where that is worth it; and its other end.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <zstd.h>

#include "base/error.hpp"
#include "router/wire/session_options.hpp"
#include "transport/buffer_pool.hpp"
#include "transport/stream.hpp"

namespace farport::router {

/// What one step has consumed and produced, in bytes.
struct ZstdStep {
  std::size_t taken = 0;
  std::size_t made = 0;
  bool ended = false;  ///< Compressing: everything is flushed. Decompressing: the frame is complete.
};

/// Compresses zstd frames with the library.
class ZstdCompressor {
 public:
  /// What follows the input of a step.
  enum class Then {
    more,   ///< More input, for which the compressor may wait.
    flush,  ///< Nothing for now: the peer must get all that there is.
    end,    ///< Nothing: the frame ends here. The next step begins another one.
  };

  /// `level` is as for ZSTD_c_compressionLevel. Negative levels are faster still.
  explicit ZstdCompressor(int level);
  /// Sets the window of the following frames (ZSTD_c_windowLog), which both sides need as memory, and the
  /// size of the tables to search it (ZSTD_c_hashLog, ZSTD_c_chainLog).
  void limit_memory(int window_log, int table_log);
  /// Has the following frames end with a checksum of their contents (RFC 8878 section 3.1.1).
  void add_checksums();
  /// Compresses some of `in` into `out`. To flush or end, call this until the result says that it has ended.
  [[nodiscard]] Result<ZstdStep> step(std::span<const std::byte> in, std::span<std::byte> out, Then then);

 private:
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  std::unique_ptr<ZSTD_CCtx, Free> context_;
};

/// Decompresses zstd frames with the library.
class ZstdDecompressor {
 public:
  ZstdDecompressor();
  /// Decompresses some of `in` into `out`. Errors: the input is no zstd, is damaged, or needs a window of
  /// more than 8 MiB, the largest that a receiver should support (RFC 8878 section 3.1.1.1.2).
  [[nodiscard]] Result<ZstdStep> step(std::span<const std::byte> in, std::span<std::byte> out);

 private:
  static constexpr std::size_t kMagicBytes = 4;

  [[nodiscard]] bool begins_well(std::span<const std::byte> in) const;
  void note_taken(std::span<const std::byte> taken);

  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context_;
  std::array<std::byte, kMagicBytes> magic_{};  ///< The first bytes of the current frame.
  std::size_t magic_bytes_ = 0;                 ///< How many of them have come.
};

}  // namespace farport::router

namespace farport::router::raw_frame {

// A zstd frame of one uncompressed block (RFC 8878 sections 3.1.1 and 3.1.1.2). It carries bytes that are not
// worth compressing in a body with content-encoding zstd.

/// The size of what precedes the bytes.
inline constexpr std::size_t kHeaderSize = transport::kEncodingHeadroom;
using Header = std::array<std::byte, kHeaderSize>;
/// The most bytes in a block, since that is also the size of the window.
inline constexpr std::size_t kMaxFrameBytes = std::size_t{1} << 17;

/// The magic number, no options, and a window of 128 KiB; then the block's header: last (bit 0), raw (bits 1
/// and 2 are 0), and its size.
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

/// The number of bytes that follow, if this is the beginning of such a frame.
[[nodiscard]] constexpr std::optional<std::size_t> size_of(const Header& found) {
  constexpr std::size_t kBlock = 6;
  const std::uint32_t block = std::to_integer<std::uint32_t>(found[kBlock]) |
                              std::to_integer<std::uint32_t>(found[kBlock + 1]) << 8 |
                              std::to_integer<std::uint32_t>(found[kBlock + 2]) << 16;
  const std::size_t size = block >> 3;
  if (size > kMaxFrameBytes || found != header(size)) return std::nullopt;
  return size;
}

}  // namespace farport::router::raw_frame

namespace farport::router {

/// Limits the number of compressors of an agent, since each takes memory, however little passes through it.
class CompressorLimit {
 public:
  /// The approximate memory of one compressor and its output, in bytes.
  static constexpr std::uint64_t kBytesOfOne = 1536 * 1024;

  explicit CompressorLimit(std::size_t most) : most_(most) {}
  CompressorLimit(const CompressorLimit&) = delete;
  CompressorLimit& operator=(const CompressorLimit&) = delete;

  /// The number of compressors that take a third of `buffered_bytes`, which callers may make the agent hold;
  /// at least one.
  [[nodiscard]] static std::size_t most_beside(std::uint64_t buffered_bytes) {
    return std::max<std::size_t>(buffered_bytes / 3 / kBytesOfOne, 1);
  }

  [[nodiscard]] bool reached() const { return taken_ >= most_; }

  /// Counts one compressor. Must not outlive the limit.
  class Place {
   public:
    explicit Place(CompressorLimit& limit) : limit_(limit) { ++limit_.taken_; }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { --limit_.taken_; }

   private:
    CompressorLimit& limit_;
  };

 private:
  std::size_t most_;
  std::size_t taken_ = 0;
};

/// Decides whether compressing is worth it, which is only so while the network is the bottleneck. It goes by
/// how long sent bytes had to wait, and by how much smaller they got.
class CompressionPolicy {
 public:
  using Clock = std::chrono::steady_clock;

  /// `mode` is not `never`: there is no CompressingStream then.
  explicit CompressionPolicy(Compression mode) : mode_(mode), worthwhile_(mode == Compression::always) {}

  /// Whether to compress the next bytes.
  [[nodiscard]] bool compress() const { return worthwhile_ && plain_bytes_left_ == 0; }
  /// The zstd level: the slower the network, the higher.
  [[nodiscard]] int level() const { return level_; }

  /// Call this for compressed bytes, with their size before and after.
  void compressed(std::size_t before, std::size_t after);
  /// Call this for bytes that were sent uncompressed.
  void plain(std::size_t bytes);
  /// Call this for bytes that were available at `begun`, and that the network had taken at `done`.
  void sent(std::size_t bytes, Clock::time_point begun, Clock::time_point done);

 private:
  void update(double seconds);

  Compression mode_;
  bool worthwhile_;
  int level_ = kQuickLevel;
  int idle_windows_ = 0;              ///< Windows in a row without waiting.
  int failures_ = 0;                  ///< Times in a row that compression saved too little.
  std::size_t backoff_bytes_ = 0;     ///< The last such pause, in bytes. Doubles each time.
  std::size_t plain_bytes_left_ = 0;  ///< Bytes to send before compression is tried again.
  Clock::time_point since_{};         ///< The start of the current window.
  Clock::duration waited_{};
  std::size_t bytes_ = 0;

  static constexpr int kQuickLevel = 1;
  static constexpr int kThoroughLevel = 7;
};

/// A Stream over another one. The other one and the limit must outlive it. Reading passes through unchanged.
/// Each write is sent at once.
class CompressingStream final : public transport::Stream, private transport::WriteOperation {
 public:
  CompressingStream(transport::Stream& lower, Compression mode, CompressorLimit& limit)
      : Stream(lower.loop()), lower_(lower), choice_(mode), limit_(limit) {}
  ~CompressingStream() override;

  transport::Io try_read(std::span<std::byte> into) override { return lower_.try_read(into); }
  void when_readable(transport::Wake* wake) override { lower_.when_readable(wake); }
  bool begin_write(transport::WriteOperation& operation) override;
  void cancel_write() override;
  void when_gone(transport::Wake* wake) override { lower_.when_gone(wake); }
  void abort(Error why) override { lower_.abort(std::move(why)); }
  [[nodiscard]] const Error& error() const override { return lower_.error(); }

 private:
  struct Frame {
    Frame(CompressorLimit& limit, int level) : place(limit), compressor(level) {}
    CompressorLimit::Place place;
    ZstdCompressor compressor;
  };

  void complete() override;
  bool write_pieces();
  void next_piece();
  [[nodiscard]] bool begins_frame() const { return choice_.compress() && !limit_.reached(); }
  void frame_as_it_is(std::size_t size);
  void compress(std::size_t size);
  [[nodiscard]] std::byte* payload() { return encoded_.data() + transport::kHeadroom; }
  void send_encoded(std::size_t size);

  transport::Stream& lower_;
  CompressionPolicy choice_;
  CompressorLimit& limit_;
  std::optional<Frame> frame_;      ///< The frame that is open, if any.
  std::vector<std::byte> encoded_;  ///< Headroom, and what can't be sent from where it was.
  transport::WriteOperation* write_ = nullptr;
  CompressionPolicy::Clock::time_point begun_{};
  std::size_t sending_ = 0;
};

/// The other end of a CompressingStream, or of any sequence of zstd frames: a Stream over another one, which
/// must outlive it. Writing passes through unchanged. Frames of one uncompressed block are not copied.
class DecompressingStream final : public transport::Stream {
 public:
  explicit DecompressingStream(transport::Stream& lower) : Stream(lower.loop()), lower_(lower) {}

  transport::Io try_read(std::span<std::byte> into) override;
  void when_readable(transport::Wake* wake) override;
  bool begin_write(transport::WriteOperation& operation) override { return lower_.begin_write(operation); }
  void cancel_write() override { lower_.cancel_write(); }
  void when_gone(transport::Wake* wake) override { lower_.when_gone(wake); }
  void abort(Error why) override { lower_.abort(std::move(why)); }
  [[nodiscard]] const Error& error() const override { return lower_.error(); }

 private:
  enum class State { header, raw, frame };

  transport::Io read_header();
  transport::Io read_raw(std::span<std::byte> into);
  transport::Io read_frame(std::span<std::byte> into);
  transport::Io take(std::span<std::byte> into);
  [[nodiscard]] transport::Io broken(std::string why);

  transport::Stream& lower_;
  State state_ = State::header;
  raw_frame::Header header_{};
  std::size_t header_size_ = 0;  ///< How much of the header has come.
  std::size_t raw_left_ = 0;
  std::optional<ZstdDecompressor> decompressor_;
  std::vector<std::byte> input_;       ///< Received bytes of compressed frames.
  std::span<const std::byte> unread_;  ///< The rest of input_.
  bool gave_way_ = false;              ///< There is more to read, in another turn of the loop.
  bool output_waits_ = false;          ///< The decompressor may have more output without further input.
};

}  // namespace farport::router
