// Backoff: how long to wait before something is tried again.
#pragma once

#include <algorithm>
#include <random>

#include "transport/timer.hpp"

namespace farport::transport {

/// Pauses that double from the first to the longest one, each shortened by up to half at random: those who
/// lost the same peer at the same moment come back one after the other.
class Backoff {
 public:
  Backoff(Milliseconds first, Milliseconds longest) : first_(first), longest_(longest), next_(first) {}

  /// The next pause.
  [[nodiscard]] Milliseconds next() {
    const Milliseconds pause = next_;
    next_ = std::min(next_ * 2, longest_);
    std::random_device device;
    std::uniform_real_distribution<double> factor(0.5, 1.0);
    return Milliseconds(static_cast<Milliseconds::rep>(static_cast<double>(pause.count()) * factor(device)));
  }
  /// Begins again with the first one: what was tried has worked.
  void reset() { next_ = first_; }

 private:
  Milliseconds first_;
  Milliseconds longest_;
  Milliseconds next_;
};

}  // namespace farport::transport
