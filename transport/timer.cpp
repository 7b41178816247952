#include "transport/timer.hpp"

#include <utility>

namespace farport::transport {
namespace {

OwnedHandle<uv_timer_t> start_timer(Loop& loop, Milliseconds delay, void* data, uv_timer_cb callback) {
  auto* timer = new uv_timer_t;
  uv_timer_init(loop.uv(), timer);
  timer->data = data;
  // The loop's clock stands still within a turn; a timer counts from now.
  uv_update_time(loop.uv());
  uv_timer_start(timer, callback, static_cast<std::uint64_t>(delay.count()), 0);
  return OwnedHandle<uv_timer_t>(timer);
}

}  // namespace

void Sleep::await_suspend(std::coroutine_handle<> coroutine) {
  waiter_.coroutine = coroutine;
  timer_ = start_timer(loop_, delay_, this, [](uv_timer_t* timer) {
    auto* self = static_cast<Sleep*>(timer->data);
    self->loop_.make_ready(self->waiter_);
  });
}

Deadline::Deadline(Loop& loop, Milliseconds limit, std::function<void()> on_expired)
    : on_expired_(std::move(on_expired)) {
  timer_ = start_timer(loop, limit, this, [](uv_timer_t* timer) {
    auto* self = static_cast<Deadline*>(timer->data);
    self->expired_ = true;
    self->timer_.reset();
    self->on_expired_();
  });
}

}  // namespace farport::transport
