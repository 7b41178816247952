#include "transport/share.hpp"

#include <algorithm>
#include <utility>

namespace farport::transport {

void Share::begin_turn() {
  if (turn_ == loop_.turn()) return;
  turn_ = loop_.turn();
  used_ = {};
}

bool Share::exhausted() const {
  return used_ >= per_turn_ || loop_.now_ms() < rests_until_;
}

bool Share::used_up() {
  begin_turn();
  return !waiting_.empty() || exhausted();
}

void Share::charge(Clock::duration took) {
  begin_turn();
  used_ += took;
  if (!exhausted()) wake_next();
}

void Share::rest(Milliseconds pause) {
  rests_until_ = std::max(rests_until_, loop_.now_ms() + static_cast<std::uint64_t>(pause.count()));
}

void Share::wake_next() {
  if (ListNode* next = waiting_.pop()) loop_.make_ready(static_cast<Waiter&>(*next));
}

void Share::wake_in(Milliseconds delay) {
  if (std::exchange(waking_, true)) return;
  start(delay);
}

void Share::on_time() {
  waking_ = false;
  const std::uint64_t now = loop_.now_ms();
  if (now >= rests_until_) wake_next();
  if (waiting_.empty()) return;
  // Wakes the next one in the next turn at the latest, even if the current work charges nothing.
  wake_in(Milliseconds(now < rests_until_ ? rests_until_ - now : 0));
}

void Share::Turn::await_suspend(std::coroutine_handle<> coroutine) {
  waiter_.coroutine = coroutine;
  share_.waiting_.push(waiter_);
  share_.wake_in(Milliseconds(0));
}

}  // namespace farport::transport
