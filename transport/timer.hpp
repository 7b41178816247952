// Timers, sleeping, deadlines and backoff on the loop's clock.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <utility>

#include "transport/loop.hpp"

namespace farport::transport {

/// co_await sleep(loop, delay): resumes after the delay. Destroying the coroutine cancels it.
class [[nodiscard]] Sleep final : Timer {
 public:
  Sleep(Loop& loop, Milliseconds delay) : Timer(loop), delay_(delay) {}
  ~Sleep() = default;
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) {
    waiter_.coroutine = coroutine;
    start(delay_);
  }
  void await_resume() const noexcept {}
  /// Whether the delay is over.
  [[nodiscard]] bool over() const { return over_; }

 private:
  void on_time() override {
    over_ = true;
    loop_.make_ready(waiter_);
  }

  Milliseconds delay_;
  Waiter waiter_;
  bool over_ = false;
};
[[nodiscard]] inline Sleep sleep(Loop& loop, Milliseconds delay) {
  return {loop, delay};
}

/// A time limit: calls `on_expired` once, from the loop, unless it is cancelled or destroyed before. The
/// usual callback aborts a Stream, which ends whatever waits for it.
class Deadline final : Timer {
 public:
  Deadline(Loop& loop, Milliseconds limit, std::function<void()> on_expired)
      : Timer(loop), on_expired_(std::move(on_expired)) {
    start(limit);
  }
  ~Deadline() = default;
  void cancel() { stop(); }
  [[nodiscard]] bool expired() const { return expired_; }

 private:
  void on_time() override {
    expired_ = true;
    on_expired_();
  }

  std::function<void()> on_expired_;
  bool expired_ = false;
};

/// Exponential backoff between retries. Pauses double from the first to the longest, each shortened by up to
/// half at random, so that clients that lost the same peer together come back one after the other.
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
  /// Starts again with the first pause, after a success.
  void reset() { next_ = first_; }

 private:
  Milliseconds first_;
  Milliseconds longest_;
  Milliseconds next_;
};

}  // namespace farport::transport
