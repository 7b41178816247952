#include "transport/http2/flow_control.hpp"

#include <algorithm>

namespace farport::transport {

bool Http2FlowControl::received(std::size_t bytes) {
  return window_.received(bytes, Http2Window::Clock::now());
}

void Http2FlowControl::ping_acknowledged() {
  const auto window = window_.ping_acknowledged(Http2Window::Clock::now());
  if (!window) return;
  const nghttp2_settings_entry setting{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, *window};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &setting, 1);
}

void Http2FlowControl::consumed(const Http2Stream& stream, std::size_t bytes) {
  nghttp2_session_consume_stream(session_, stream.id(), bytes);
  // For half of a window nghttp2 has given it.
  give_credit(stream, static_cast<std::int32_t>(window_.credit_unit()));
}

/// For what has been read, if it is this much.
void Http2FlowControl::give_credit(const Http2Stream& stream, std::int32_t at_least) {
  const std::int32_t held = nghttp2_session_get_stream_effective_recv_data_length(session_, stream.id());
  const std::int32_t read = held - static_cast<std::int32_t>(stream.unread());
  if (read >= at_least) nghttp2_submit_window_update(session_, NGHTTP2_FLAG_NONE, stream.id(), read);
}

std::uint64_t Http2FlowControl::acknowledged(const Http2Stream& stream, std::uint64_t sent) const {
  const std::int32_t window = nghttp2_session_get_stream_remote_window_size(session_, stream.id());
  const std::uint32_t initial = peer_window();
  // Without any left, there may be less than none: the peer's window shrinks, too.
  if (window <= 0 || static_cast<std::uint32_t>(window) > initial) return 0;
  const std::uint64_t without_credit = initial - static_cast<std::uint32_t>(window);
  return sent - std::min(sent, without_credit);
}

std::size_t Http2FlowControl::unsent() const {
  // A peer's window tells how much its network holds (Http2Window): this is some hundredths of that, and of
  // the time that a round trip takes.
  constexpr std::uint32_t kPart = 128;
  constexpr std::uint32_t kMostUnsent = 512 * 1024;
  return std::min(peer_window() / kPart, kMostUnsent);
}

std::uint32_t Http2FlowControl::peer_window() const {
  return nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE);
}

}  // namespace farport::transport
