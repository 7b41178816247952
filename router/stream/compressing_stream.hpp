// CompressingStream: what is written is sent as zstd (RFC 8878), compressed where that is worth it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "router/stream/zstd.hpp"
#include "router/wire/session_options.hpp"
#include "transport/stream.hpp"

namespace farport::router {

// How many compressors an agent has at once: each takes memory, however little goes through it.

class CompressorLimit {
 public:
  /// What one takes about, with what it writes into, in bytes.
  static constexpr std::uint64_t kBytesOfOne = 1536 * 1024;

  explicit CompressorLimit(std::size_t most) : most_(most) {}
  CompressorLimit(const CompressorLimit&) = delete;
  CompressorLimit& operator=(const CompressorLimit&) = delete;

  /// As many as take a third of what callers may make the agent hold, in bytes; one at least.
  [[nodiscard]] static std::size_t most_beside(std::uint64_t buffered_bytes) {
    return std::max<std::size_t>(buffered_bytes / 3 / kBytesOfOne, 1);
  }

  [[nodiscard]] bool reached() const { return taken_ >= most_; }

  /// One compressor's, from its making to its end. Must not outlive the limit.
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

/// Whether what is sent to a tool is worth compressing: only while the network is what it waits for.
/// Judges by what has been sent: how long it had to wait, and how much smaller it got.
class CompressionPolicy {
 public:
  using Clock = std::chrono::steady_clock;

  /// Not `never`: nothing is offered then.
  explicit CompressionPolicy(Compression mode) : mode_(mode), worthwhile_(mode == Compression::always) {}

  /// Whether to compress the next bytes.
  [[nodiscard]] bool compress() const { return worthwhile_ && plain_bytes_left_ == 0; }
  /// As a zstd level: the slower the network, the more work is worth it.
  [[nodiscard]] int level() const { return level_; }

  /// Compressed bytes, before and after.
  void compressed(std::size_t before, std::size_t after);
  /// Bytes that were sent as they are.
  void plain(std::size_t bytes);
  /// Bytes that were on hand at `begun` and had been taken by the network at `done`.
  void sent(std::size_t bytes, Clock::time_point begun, Clock::time_point done);

 private:
  void update(double seconds);

  Compression mode_;
  bool worthwhile_;
  int level_ = kQuickLevel;
  int idle_windows_ = 0;              ///< Times in a row that nothing waited.
  int failures_ = 0;                  ///< Times in a row that it didn't help.
  std::size_t backoff_bytes_ = 0;     ///< For how many bytes it is left alone at the next disappointment.
  std::size_t plain_bytes_left_ = 0;  ///< Bytes to be sent before it is tried again.
  Clock::time_point since_{};         ///< Of what follows.
  Clock::duration waited_{};
  std::size_t bytes_ = 0;

  static constexpr int kQuickLevel = 1;
  static constexpr int kThoroughLevel = 7;
};

/// A Stream over another that must outlive it, as must the limit. What is read passes as it is. Each write is
/// sent at once.
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
  std::optional<Frame> frame_;      ///< The one that is open.
  std::vector<std::byte> encoded_;  ///< Headroom, and what is sent where it can't lie where it was.
  transport::WriteOperation* write_ = nullptr;
  CompressionPolicy::Clock::time_point begun_{};
  std::size_t sending_ = 0;
};

}  // namespace farport::router
