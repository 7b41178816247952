// A Stream in memory: what is read from it is fed piece by piece, what is written to it must be HTTP/2
// frames.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "transport/stream.hpp"

namespace farport::fuzz {

/// Checks that a stream of bytes is one of HTTP/2 frames (RFC 9113 section 4.1), after a client's preface.
class FrameChecker {
 public:
  explicit FrameChecker(bool preface);
  void take(std::span<const std::byte> bytes);

 private:
  void check_header() const;

  std::size_t skip_;
  std::array<std::byte, transport::kHeadroom> header_{};
  std::size_t header_size_ = 0;
};

class FedStream final : public transport::Stream {
 public:
  struct Ways {
    bool client = false;       ///< Whether a client writes here.
    bool slow_writes = false;  ///< Writes are taken a turn later, instead of at once.
    bool fails = false;        ///< Ends with an error instead of an end.
  };
  FedStream(transport::Loop& loop, Ways ways) : Stream(loop), ways_(ways), checker_(ways.client) {}

  /// Lets these bytes be read. They must stay.
  void feed(std::span<const std::byte> bytes);
  /// Whether some of them have not been read yet: what is fed next takes their place.
  [[nodiscard]] bool holds_bytes() const { return !fed_.empty(); }
  /// Nothing more comes.
  void end();
  /// Takes the write that waits, if any.
  void take_write();

  transport::Io try_read(std::span<std::byte> into) override;
  void when_readable(transport::Wake* wake) override;
  bool begin_write(transport::WriteOperation& operation) override;
  void cancel_write() override { write_ = nullptr; }
  void when_gone(transport::Wake* wake) override;
  void abort(Error why) override;
  [[nodiscard]] const Error& error() const override { return *error_; }

 private:
  void wake_reader();

  Ways ways_;
  FrameChecker checker_;
  std::span<const std::byte> fed_;
  bool ended_ = false;
  std::optional<Error> error_;
  transport::Wake* read_wake_ = nullptr;
  transport::Wake* gone_wake_ = nullptr;
  transport::WriteOperation* write_ = nullptr;
};

}  // namespace farport::fuzz
