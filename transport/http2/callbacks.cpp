#include "transport/http2/callbacks.hpp"

#include <algorithm>

#include "transport/http2/stream.hpp"

namespace farport::transport {
namespace {

std::string_view text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

Http2Events& events_of(void* user_data) {
  return *static_cast<Http2Events*>(user_data);
}

}  // namespace

Http2Stream* Http2Callbacks::find(nghttp2_session* session, std::int32_t id) {
  return static_cast<Http2Stream*>(nghttp2_session_get_stream_user_data(session, id));
}

nghttp2_session_callbacks* Http2Callbacks::make() {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);

  nghttp2_session_callbacks_set_send_callback(
      callbacks,
      [](nghttp2_session*, const std::uint8_t* data, std::size_t size, int, void* user) -> ssize_t {
        return events_of(user).send(std::as_bytes(std::span(data, size)));
      });
  nghttp2_session_callbacks_set_send_data_callback(
      callbacks, [](nghttp2_session* session, nghttp2_frame* frame, const std::uint8_t* header,
                    std::size_t size, nghttp2_data_source*, void* user) {
        Http2Stream* stream = find(session, frame->hd.stream_id);
        if (stream == nullptr || stream->write_ == nullptr) {
          return static_cast<int>(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE);
        }
        return events_of(user).send_data(*stream, header, size);
      });
  nghttp2_session_callbacks_set_data_source_read_length_callback(
      callbacks,
      [](nghttp2_session*, std::uint8_t, std::int32_t, std::int32_t session_window,
         std::int32_t stream_window, std::uint32_t max_frame, void*) -> ssize_t {
        return std::min<std::int64_t>({session_window, stream_window, max_frame, kMaxPayload});
      });

  nghttp2_session_callbacks_set_on_begin_headers_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) events_of(user).request_begins(frame->hd.stream_id);
        return 0;
      });
  nghttp2_session_callbacks_set_on_header_callback(
      callbacks,
      [](nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name,
         std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user) {
        Http2Stream* stream = find(session, frame->hd.stream_id);
        if (stream == nullptr) return 0;
        return events_of(user).field_received(*stream, text(name, name_size), text(value, value_size));
      });
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      callbacks, [](nghttp2_session* session, const nghttp2_frame* frame, void* user) {
        frame_received(session, *frame, events_of(user));
        return 0;
      });
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      callbacks, [](nghttp2_session* session, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                    std::size_t size, void* user) {
        // The connection's window is opened again at once: a stalled stream holds up no other.
        nghttp2_session_consume_connection(session, size);
        Http2Stream* stream = find(session, id);
        if (stream != nullptr) events_of(user).data_received(*stream, std::as_bytes(std::span(data, size)));
        return 0;
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      callbacks, [](nghttp2_session* session, std::int32_t id, std::uint32_t error_code, void* user) {
        Http2Stream* stream = find(session, id);
        if (stream != nullptr) events_of(user).stream_closed(*stream, error_code);
        return 0;
      });
  return callbacks;
}

/// A frame that has come whole. Its stream's user may have dropped it.
void Http2Callbacks::frame_received(nghttp2_session* session, const nghttp2_frame& frame,
                                    Http2Events& events) {
  const bool acknowledges = (frame.hd.flags & NGHTTP2_FLAG_ACK) != 0;
  const bool ends = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  Http2Stream* stream = frame.hd.stream_id == 0 ? nullptr : find(session, frame.hd.stream_id);
  switch (frame.hd.type) {
    case NGHTTP2_HEADERS:
      events.head_received(stream);
      [[fallthrough]];
    case NGHTTP2_DATA:
      if (stream != nullptr && ends) stream->received_end();
      break;
    case NGHTTP2_WINDOW_UPDATE:
      if (stream != nullptr && stream->acknowledged_wake_ != nullptr) stream->acknowledged_wake_->wake();
      break;
    case NGHTTP2_SETTINGS:
      acknowledges ? events.settings_acknowledged() : events.settings_received();
      break;
    case NGHTTP2_PING:
      acknowledges ? events.ping_acknowledged() : events.ping_received();
      break;
    case NGHTTP2_GOAWAY:
      events.goaway_received(frame.goaway.error_code,
                             text(frame.goaway.opaque_data, frame.goaway.opaque_data_len));
      break;
    default:
      break;
  }
}

nghttp2_data_provider Http2Callbacks::body() {
  nghttp2_data_provider provider{};
  provider.read_callback = [](nghttp2_session* session, std::int32_t id, std::uint8_t*, std::size_t room,
                              std::uint32_t* flags, nghttp2_data_source*, void*) -> ssize_t {
    Http2Stream* stream = find(session, id);
    if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const WriteOperation* write = stream->write_;
    if (write == nullptr) return NGHTTP2_ERR_DEFERRED;
    const std::size_t size = std::min(write->chunk.size, room);
    if (size == 0 && !write->finish) return NGHTTP2_ERR_DEFERRED;
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (write->finish && size == write->chunk.size) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (stream->submit_trailer()) *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    }
    return static_cast<ssize_t>(size);
  };
  return provider;
}

}  // namespace farport::transport
