// Time on the loop: sleeping, and limits on how long something may take.
#pragma once

#include <functional>

#include "transport/loop.hpp"

namespace farport::transport {

/// co_await sleep(loop, delay): resumes after the delay. Destroying the coroutine cancels it.
class [[nodiscard]] Sleep {
 public:
  Sleep(Loop& loop, Milliseconds delay) : loop_(loop), delay_(delay) {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> coroutine);
  void await_resume() const noexcept {}

 private:
  Loop& loop_;
  Milliseconds delay_;
  Waiter waiter_;
  OwnedHandle<uv_timer_t> timer_;
};
[[nodiscard]] inline Sleep sleep(Loop& loop, Milliseconds delay) {
  return {loop, delay};
}

/// A time limit: calls `on_expired` once, from the loop, unless it is cancelled or destroyed before. The
/// usual callback aborts a Stream, which ends whatever waits for it.
class Deadline {
 public:
  Deadline(Loop& loop, Milliseconds limit, std::function<void()> on_expired);
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  void cancel() { timer_.reset(); }
  [[nodiscard]] bool expired() const { return expired_; }

 private:
  std::function<void()> on_expired_;
  bool expired_ = false;
  OwnedHandle<uv_timer_t> timer_;
};

}  // namespace farport::transport
