#include "transport/loop.hpp"

namespace farport::transport {

Loop::Loop() {
  uv_loop_init(&uv_);
  uv_.data = this;
  uv_prepare_init(&uv_, &prepare_);
  uv_check_init(&uv_, &check_);
  uv_idle_init(&uv_, &idle_);
  // Timers make coroutines ready before the poll, I/O after it: both get their turn at once.
  uv_prepare_start(&prepare_,
                   [](uv_prepare_t* handle) { static_cast<Loop*>(handle->loop->data)->run_ready(); });
  uv_check_start(&check_, [](uv_check_t* handle) { static_cast<Loop*>(handle->loop->data)->run_ready(); });
}

Loop::~Loop() {
  uv_close(reinterpret_cast<uv_handle_t*>(&prepare_), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&check_), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&idle_), nullptr);
  uv_run(&uv_, UV_RUN_DEFAULT);
  uv_loop_close(&uv_);
}

void Loop::make_ready(Waiter& waiter) {
  ready_.push(waiter);
  if (uv_is_active(reinterpret_cast<uv_handle_t*>(&idle_)) == 0) uv_idle_start(&idle_, [](uv_idle_t*) {});
}

void Loop::at_turn_end(TurnEnd& hook) {
  if (!hook.linked()) turn_ends_.push(hook);
}

void Loop::run_ready() {
  NodeList turn;
  turn.take(ready_);
  while (ListNode* node = turn.pop()) static_cast<Waiter*>(node)->coroutine.resume();
  turn.take(turn_ends_);
  while (ListNode* node = turn.pop()) static_cast<TurnEnd*>(node)->turn_end();
  if (ready_.empty() && turn_ends_.empty()) uv_idle_stop(&idle_);
}

void Loop::run_until(const bool& done) {
  while (!done) uv_run(&uv_, UV_RUN_ONCE);
}

}  // namespace farport::transport
