// DecompressingStream: the other end of a CompressingStream, or of any zstd frames one after the other.
#pragma once

#include <optional>
#include <vector>

#include "router/stream/zstd.hpp"
#include "transport/stream.hpp"

namespace farport::router {

/// A Stream over another that must outlive it. What is written passes as it is. Frames of one block that is
/// not compressed cost no copy.
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
  std::size_t header_size_ = 0;  ///< How much of it has come.
  std::size_t raw_left_ = 0;
  std::optional<ZstdDecompressor> decompressor_;
  std::vector<std::byte> input_;       ///< What has come of frames that are compressed.
  std::span<const std::byte> unread_;  ///< Of input_.
  bool gave_way_ = false;              ///< There is more to be read, in another turn.
  bool output_waits_ = false;          ///< The decompressor may have more without further input.
};

}  // namespace farport::router
