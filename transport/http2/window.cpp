#include "transport/http2/window.hpp"

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

}  // namespace farport::transport
