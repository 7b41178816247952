#include "transport/http2_callbacks.hpp"

#include <algorithm>

namespace farport::transport {
namespace {

std::string_view text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace

nghttp2_session_callbacks* Http2Session::Callbacks::make() {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);

  nghttp2_session_callbacks_set_send_callback(
      callbacks,
      [](nghttp2_session*, const std::uint8_t* data, std::size_t size, int, void* self) -> ssize_t {
        return static_cast<Http2Session*>(self)->collect(data, size);
      });
  nghttp2_session_callbacks_set_send_data_callback(
      callbacks, [](nghttp2_session*, nghttp2_frame* frame, const std::uint8_t* header, std::size_t size,
                    nghttp2_data_source*, void* user) {
        auto* self = static_cast<Http2Session*>(user);
        Http2Stream* stream = self->find(frame->hd.stream_id);
        if (stream == nullptr || stream->write_ == nullptr) {
          return static_cast<int>(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE);
        }
        return self->send_data(*stream, header, size);
      });
  nghttp2_session_callbacks_set_data_source_read_length_callback(
      callbacks,
      [](nghttp2_session*, std::uint8_t, std::int32_t, std::int32_t session_window,
         std::int32_t stream_window, std::uint32_t max_frame, void*) -> ssize_t {
        return std::min<std::int64_t>({session_window, stream_window, max_frame, kMaxPayload});
      });

  nghttp2_session_callbacks_set_on_begin_headers_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
        if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
          static_cast<Http2Session*>(self)->request_begins(frame->hd.stream_id);
        }
        return 0;
      });
  nghttp2_session_callbacks_set_on_header_callback(
      callbacks,
      [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
         const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* self) {
        return static_cast<Http2Session*>(self)->add_field(frame->hd.stream_id, text(name, name_size),
                                                           text(value, value_size));
      });
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        auto* self = static_cast<Http2Session*>(user);
        if (frame->hd.type == NGHTTP2_HEADERS) self->head_received(frame->hd.stream_id);
        if (frame->hd.type == NGHTTP2_GOAWAY) {
          const nghttp2_goaway& goaway = frame->goaway;
          self->goaway_received(goaway.error_code, text(goaway.opaque_data, goaway.opaque_data_len));
        }
        const bool acknowledges = (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0;
        if (frame->hd.type == NGHTTP2_SETTINGS) {
          acknowledges ? self->settings_acknowledged() : self->settings_received();
        }
        if (frame->hd.type == NGHTTP2_WINDOW_UPDATE) self->credit_received(frame->hd.stream_id);
        if (frame->hd.type == NGHTTP2_PING) {
          acknowledges ? self->ping_acknowledged() : self->ping_received();
        }
        const bool may_end = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
        Http2Stream* stream = may_end ? self->find(frame->hd.stream_id) : nullptr;
        if (stream != nullptr && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) stream->received_end();
        return 0;
      });
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      callbacks, [](nghttp2_session* session, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                    std::size_t size, void* self) {
        // The connection's window is opened again at once: a stalled stream holds up no other.
        nghttp2_session_consume_connection(session, size);
        auto* session_of_ours = static_cast<Http2Session*>(self);
        Http2Stream* stream = session_of_ours->find(id);
        if (stream != nullptr) session_of_ours->received(*stream, std::as_bytes(std::span(data, size)));
        return 0;
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      callbacks, [](nghttp2_session*, std::int32_t id, std::uint32_t error_code, void* self) {
        static_cast<Http2Session*>(self)->stream_closed(id, error_code);
        return 0;
      });
  return callbacks;
}

nghttp2_data_provider Http2Session::Callbacks::body() {
  nghttp2_data_provider provider{};
  provider.read_callback = [](nghttp2_session*, std::int32_t id, std::uint8_t*, std::size_t room,
                              std::uint32_t* flags, nghttp2_data_source*, void* self) -> ssize_t {
    Http2Stream* stream = static_cast<Http2Session*>(self)->find(id);
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
