#include "transport/http2/flow_control.hpp"

#include <algorithm>
#include <utility>

namespace farport::transport {
namespace {

/// How often is measured at most.
constexpr std::chrono::milliseconds kPause{10};
/// After so many quiet PINGs a window shrinks again.
constexpr int kQuietPings = 2;
/// Of what the network holds, a window is so much at first: congestion control that works by the rate it
/// measures, as BBR does, has up to 2.9 times as much under way until it knows the rate (Linux, tcp_bbr.c:
/// bbr_high_gain), and learns nothing while it is credit that limits it. It then keeps no more on the way
/// than the network holds.
constexpr double kPlenty = 4;
/// And so much where a sender fills whatever queue there is, as those do that wait for losses.
constexpr double kSpare = 1.5;
/// That is known after so many PINGs in a row that took this much longer than the network alone, and over
/// after so many that didn't.
constexpr int kStandingQueue = 50;
constexpr double kQueued = 1.25;
/// After so many PINGs in a row that ask for less than half of it, a window falls: the network has become
/// slower, or its reader has.
constexpr int kTooLarge = 3;

}  // namespace

bool Http2Window::received(std::size_t bytes, Clock::time_point now) {
  received_ += bytes;
  since_ping_ += bytes;
  if (measuring_ || smallest_ == largest_ || now - sent_at_ < kPause) return false;
  return received_ >= size_ / 2;
}

void Http2Window::ping_sent(Clock::time_point now) {
  quiet_ = std::exchange(since_ping_, 0) < smallest_ / 2 ? quiet_ + 1 : 0;
  measuring_ = true;
  sent_at_ = now;
  received_ = 0;
}

std::optional<std::uint32_t> Http2Window::ping_acknowledged(Clock::time_point now) {
  if (!std::exchange(measuring_, false)) return std::nullopt;
  const Clock::duration took = std::max(now - sent_at_, Clock::duration{1});
  round_trip_ = std::min(round_trip_, took);
  const auto came = static_cast<double>(std::exchange(received_, 0));
  if (quiet_ >= kQuietPings) {
    last_product_ = 0;
    queue_ = {};
    return resize(smallest_);
  }
  const double longer = static_cast<double>(took.count()) / static_cast<double>(round_trip_.count());
  const bool found_out = queue_.is_new(longer > kQueued);
  // Of two: what had to wait for one lost packet comes all at once.
  const double product = came / longer;
  const double sure = std::min(std::exchange(last_product_, product), product);
  // A sender that waits for credit gets nearly a whole window across in a round trip: one step after the
  // other, as what a larger window brings is known when it is in use.
  const double wanted = (queue_.stands ? kSpare : kPlenty) * sure;
  too_large_ = 2 * wanted < size_ ? too_large_ + 1 : 0;
  return found_out || wanted > size_ || too_large_ >= kTooLarge ? resize(wanted) : std::nullopt;
}

bool Http2Window::Queue::is_new(bool seen) {
  against = seen == stands ? 0 : against + 1;
  if (against < kStandingQueue) return false;
  against = 0;
  stands = seen;
  return stands;
}

std::uint32_t Http2Window::credit_unit() const {
  constexpr std::chrono::milliseconds kFar{2};
  constexpr std::uint32_t kUnit = 256 * 1024;
  const bool far = round_trip_ >= kFar && round_trip_ != Clock::duration::max();
  return far ? std::min(kUnit, size_ / 2) : size_ / 2;
}

std::optional<std::uint32_t> Http2Window::resize(double wanted) {
  const auto size = static_cast<std::uint32_t>(std::clamp<double>(wanted, smallest_, largest_));
  if (size == size_) return std::nullopt;
  size_ = size;
  return size;
}

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
