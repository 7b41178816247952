// What nghttp2 calls, translated into calls of Http2Events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <nghttp2/nghttp2.h>

namespace farport::transport {

class Http2Stream;

/// What nghttp2 reports of a session, and has to be done for it. Called from inside nghttp2 only. What
/// returns an int or a ssize_t returns nghttp2's error codes.
class Http2Events {
 public:
  virtual ssize_t send(std::span<const std::byte> frames) = 0;
  virtual int send_data(Http2Stream& stream, const std::uint8_t* frame_header, std::size_t size) = 0;

  virtual void request_begins(std::int32_t id) = 0;
  virtual int field_received(Http2Stream& stream, std::string_view name, std::string_view value) = 0;
  /// `stream`: nullptr once its user has dropped it.
  virtual void head_received(Http2Stream* stream) = 0;
  virtual void data_received(Http2Stream& stream, std::span<const std::byte> bytes) = 0;
  virtual void stream_closed(Http2Stream& stream, std::uint32_t error_code) = 0;

  virtual void settings_received() = 0;
  virtual void settings_acknowledged() = 0;
  virtual void ping_received() = 0;
  virtual void ping_acknowledged() = 0;
  virtual void goaway_received(std::uint32_t error_code, std::string_view text) = 0;

 protected:
  ~Http2Events() = default;
};

struct Http2Callbacks {
  /// The callbacks of every session, whose user data is an Http2Events. The caller frees them with
  /// nghttp2_session_callbacks_del().
  static nghttp2_session_callbacks* make();
  /// The body of an outgoing message: bytes come from the stream's write, where they lie.
  static nghttp2_data_provider body();
  /// The stream with this number; nullptr once its user has dropped it.
  static Http2Stream* find(nghttp2_session* session, std::int32_t id);

 private:
  static void frame_received(nghttp2_session* session, const nghttp2_frame& frame, Http2Events& events);
};

}  // namespace farport::transport
