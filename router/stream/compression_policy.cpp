#include "router/stream/compression_policy.hpp"

#include <algorithm>

namespace farport::router {
namespace {

using Seconds = std::chrono::duration<double>;

/// How long is looked at, at once.
constexpr Seconds kWindow{0.1};
/// The network is the bottleneck if this part of the time was spent waiting for it.
constexpr double kBusy = 0.5;
/// A network that takes more than this, in bytes/s, is hardly slower than compressing.
constexpr double kFast = 40e6;
/// One that takes less is worth the thorough level.
constexpr double kSlow = 8e6;
/// So many windows without waiting end it.
constexpr int kCalm = 10;
/// What saves less than a tenth, so many times in a row, is left alone.
constexpr int kPoor = 3;
constexpr std::size_t kShortestRest = std::size_t{1} << 20;
constexpr std::size_t kLongestRest = std::size_t{64} << 20;

}  // namespace

void CompressionPolicy::compressed(std::size_t before, std::size_t after) {
  if (after < before - before / 10) {
    failures_ = 0;
    backoff_bytes_ = 0;
    return;
  }
  if (++failures_ < kPoor || mode_ == Compression::always) return;
  failures_ = 0;
  backoff_bytes_ = std::clamp(backoff_bytes_ * 2, kShortestRest, kLongestRest);
  plain_bytes_left_ = backoff_bytes_;
}

void CompressionPolicy::plain(std::size_t bytes) {
  plain_bytes_left_ -= std::min(plain_bytes_left_, bytes);
}

void CompressionPolicy::sent(std::size_t bytes, Clock::time_point begun, Clock::time_point done) {
  if (bytes_ == 0) since_ = begun;
  bytes_ += bytes;
  waited_ += done - begun;
  const Seconds seconds = done - since_;
  if (seconds >= kWindow) update(seconds.count());
}

void CompressionPolicy::update(double seconds) {
  const double rate = static_cast<double>(bytes_) / seconds;
  const bool waits = Seconds(waited_).count() >= kBusy * seconds && rate < kFast;
  level_ = rate < kSlow ? kThoroughLevel : kQuickLevel;
  idle_windows_ = waits ? 0 : idle_windows_ + 1;
  if (waits) worthwhile_ = true;
  if (idle_windows_ >= kCalm && mode_ == Compression::automatic) worthwhile_ = false;
  bytes_ = 0;
  waited_ = {};
}

}  // namespace farport::router
