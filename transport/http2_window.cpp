#include "transport/http2_window.hpp"

#include <algorithm>
#include <utility>

namespace farport::transport {
namespace {

/// How often is measured at most.
constexpr std::uint64_t kPauseMs = 50;
/// After so many quiet PINGs a window shrinks again.
constexpr int kQuietPings = 2;

}  // namespace

bool Http2Window::received(std::size_t bytes, std::uint64_t now_ms) {
  received_ += bytes;
  // Little comes, or the window is as large as it gets.
  if (ping_ || size_ == largest_ || received_ < size_ / 4 || now_ms - measured_at_ms_ < kPauseMs)
    return false;
  measured_at_ms_ = now_ms;
  received_ = 0;
  return true;
}

std::optional<std::uint32_t> Http2Window::acknowledged(std::uint64_t pings) {
  if (ping_ && *ping_ <= pings) {
    ping_.reset();
    quiet_ = 0;
    const std::uint64_t in_a_round_trip = std::exchange(received_, 0);
    // Credit comes in halves of a window: with more than half of it on the way the sender soon waits.
    if (in_a_round_trip < size_ / 2) return std::nullopt;
    return resize(std::uint64_t{size_} * 2);
  }
  if (ping_ || size_ == smallest_) return std::nullopt;
  const bool quiet = std::exchange(received_, 0) < size_;
  quiet_ = quiet ? quiet_ + 1 : 0;
  if (quiet_ < kQuietPings) return std::nullopt;
  quiet_ = 0;
  return resize(smallest_);
}

std::optional<std::uint32_t> Http2Window::resize(std::uint64_t wanted) {
  const auto size = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, smallest_, largest_));
  if (size == size_) return std::nullopt;
  size_ = size;
  return size;
}

}  // namespace farport::transport
