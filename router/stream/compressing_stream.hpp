// CompressingStream: what is written is sent as zstd (RFC 8878), compressed where that is worth it.
#pragma once

#include <optional>
#include <vector>

#include "router/stream/compression_policy.hpp"
#include "router/stream/compressor_limit.hpp"
#include "router/stream/zstd.hpp"
#include "transport/stream.hpp"

namespace farport::router {

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
