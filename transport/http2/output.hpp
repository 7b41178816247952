// Http2Output: the way out of an Http2Session: which bytes are written when, and where they lie meanwhile.
// Small frames are collected into one record; a large payload is written where it lies, its frame header in
// the headroom.
#pragma once

#include <array>
#include <vector>

#include <nghttp2/nghttp2.h>

#include "transport/http2/stream.hpp"

namespace farport::transport {

class Http2Output final : private WriteOperation {
 public:
  /// Writes to `lower`. When what was pending there has been taken, `session` has its turn end. Both must
  /// outlive this.
  Http2Output(Stream& lower, EndOfTick& session) : lower_(lower), session_(session) {}
  Http2Output(const Http2Output&) = delete;
  Http2Output& operator=(const Http2Output&) = delete;
  ~Http2Output() { stop(); }

  /// Writes out what nghttp2 has to send, as far as the lower stream takes it. False: out of memory.
  [[nodiscard]] bool send_all(nghttp2_session* session);
  /// Whether the lower stream still has to take something.
  [[nodiscard]] bool pending() const { return pending_; }
  /// Ends our direction properly, unless something is pending: the peer then knows that nothing is missing.
  void say_farewell();
  /// The bytes of this stream's write won't stay where they are.
  void release(const Http2Stream& stream);
  /// The same for whichever stream's bytes are on their way.
  void release_all();
  /// Forgets what is pending: the streams are over.
  void stop();

  // From nghttp2, as its callbacks want it.
  /// Whole frames without a body's payload. How many bytes were taken, or NGHTTP2_ERR_WOULDBLOCK.
  ssize_t collect(std::span<const std::byte> frames);
  /// A DATA frame (RFC 9113 section 6.1) with the next `size` bytes of the stream's write: 0, or
  /// NGHTTP2_ERR_WOULDBLOCK.
  int send_data(nghttp2_session* session, Http2Stream& stream, const std::uint8_t* frame_header,
                std::size_t size);

 private:
  /// What a frame header was put over, in a payload that is written where it lies.
  struct Displaced {
    std::byte* place = nullptr;
    std::array<std::byte, kHeadroom> bytes{};

    void put_header(std::byte* at, const std::uint8_t* header);
    void put_back();
  };

  void complete() override;
  int send_collected(const std::uint8_t* frame_header, const Chunk& payload, std::size_t size);
  int send_in_place(nghttp2_session* session, Http2Stream& stream, const std::uint8_t* frame_header,
                    std::size_t size);
  [[nodiscard]] bool has_room_for(std::size_t bytes) const;
  bool write_collected(bool more_follows);
  bool write_lower(Chunk bytes, bool more_follows);

  Stream& lower_;
  EndOfTick& session_;
  std::vector<std::byte> collected_;  ///< Small frames, on their way into one record.
  std::vector<std::byte> kept_;       ///< What the pending write takes, where nobody else keeps it.
  bool pending_ = false;
  bool held_back_ = false;            ///< What was written last may be waiting for more.
  Http2Stream* in_flight_ = nullptr;  ///< Whose bytes the pending write takes in place.
  Displaced displaced_;
};

}  // namespace farport::transport
