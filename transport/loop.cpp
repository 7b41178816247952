#include "transport/loop.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>

namespace farport::transport {
namespace {

constexpr std::uint64_t kLongestPollMs = 3'600'000;
constexpr int kRoundsPerTurn = 4;
/// What the epoll set calls libuv's own loop. No descriptor of ours has generation 0.
constexpr std::uint64_t kLibuv = 0;

std::uint64_t key_of(int fd, std::uint32_t generation) {
  return std::uint64_t{generation} << 32U | static_cast<std::uint32_t>(fd);
}

}  // namespace

Loop::Loop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_ || uv_loop_init(&uv_) != 0) std::abort();
  uv_.data = this;
  uv_prepare_init(&uv_, &keep_alive_);
  uv_prepare_start(&keep_alive_, [](uv_prepare_t*) {});
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kLibuv;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, uv_backend_fd(&uv_), &event) != 0) std::abort();
}

Loop::~Loop() {
  uv_close(reinterpret_cast<uv_handle_t*>(&keep_alive_), nullptr);
  uv_run(&uv_, UV_RUN_DEFAULT);
  uv_loop_close(&uv_);
}

void Loop::make_ready(Waiter& waiter) {
  ready_.push(waiter);
}

void Loop::defer(TurnEndHook& hook) {
  if (!hook.linked()) turn_ends_.push(hook);
}

int Loop::watch(int fd, FdListener& listener) {
  const auto at = static_cast<std::size_t>(fd);
  if (at >= watched_.size()) watched_.resize(at + 1);
  watched_[at].listener = &listener;
  if (++watched_[at].generation == 0) ++watched_[at].generation;
  const int error = control(EPOLL_CTL_ADD, fd, 0);
  if (error != 0) forget(fd);
  return error;
}

int Loop::watch_output(int fd) {
  return control(EPOLL_CTL_MOD, fd, EPOLLOUT);
}

int Loop::control(int operation, int fd, std::uint32_t more) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP | EPOLLET | more;
  event.data.u64 = key_of(fd, watched_[static_cast<std::size_t>(fd)].generation);
  return ::epoll_ctl(epoll_.get(), operation, fd, &event) == 0 ? 0 : errno;
}

void Loop::forget(int fd) {
  watched_[static_cast<std::size_t>(fd)].listener = nullptr;
}

FdListener* Loop::listener_of(std::uint64_t key) const {
  const Watched& watched = watched_[static_cast<std::uint32_t>(key)];
  return watched.generation == key >> 32U ? watched.listener : nullptr;
}

void Loop::run_ready() {
  NodeList turn;
  turn.take(ready_);
  while (ListNode* node = turn.pop()) static_cast<Waiter*>(node)->coroutine.resume();
  turn.take(turn_ends_);
  while (ListNode* node = turn.pop()) static_cast<TurnEndHook*>(node)->end_of_tick();
}

Loop::Timers::iterator Loop::start_timer(Milliseconds delay, Timer& timer) {
  // The loop's clock stands still within a turn; a timer counts from now.
  uv_update_time(&uv_);
  return timers_.emplace(now_ms() + static_cast<std::uint64_t>(delay.count()), &timer);
}

void Loop::fire_timers() {
  // A timer that is started by another one fires in the next turn at the earliest, even if it is due.
  const auto later = timers_.upper_bound(now_ms());
  auto due = std::distance(timers_.begin(), later);
  for (; due > 0 && !timers_.empty() && timers_.begin()->first <= now_ms(); --due) {
    Timer* const timer = timers_.begin()->second;
    timers_.erase(timers_.begin());
    timer->fire();
  }
}

int Loop::poll_timeout() const {
  if (busy()) return 0;
  const int uv_timeout = uv_backend_timeout(&uv_);
  if (timers_.empty()) return uv_timeout;
  const std::uint64_t due = timers_.begin()->first;
  const std::uint64_t left = due > now_ms() ? std::min<std::uint64_t>(due - now_ms(), kLongestPollMs) : 0;
  return uv_timeout < 0 ? static_cast<int>(left) : std::min(uv_timeout, static_cast<int>(left));
}

std::span<const epoll_event> Loop::wait_for_events() {
  uv_update_time(&uv_);
  stalls_.record(DurationHistogram::Duration(uv_hrtime() - turn_began_));
  const int count =
      ::epoll_wait(epoll_.get(), events_.data(), static_cast<int>(events_.size()), poll_timeout());
  turn_began_ = uv_hrtime();
  return {events_.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
}

void Loop::poll() {
  ++turn_;
  bool uv_has_work = false;
  for (const epoll_event& event : wait_for_events()) {
    if (event.data.u64 == kLibuv) {
      uv_has_work = true;
    } else if (FdListener* const listener = listener_of(event.data.u64)) {
      listener->on_events(event.events);
    }
  }
  uv_update_time(&uv_);
  // The timeout is also zero when new handles wait to be polled or closed ones to be freed.
  if (uv_has_work || uv_backend_timeout(&uv_) == 0) uv_run(&uv_, UV_RUN_NOWAIT);
  fire_timers();
}

void Loop::run_until(const bool& done) {
  // Work before the loop ran has kept nobody waiting.
  turn_began_ = uv_hrtime();
  while (!done) {
    // Running coroutines often makes others ready. A few rounds save as many polls and still keep nobody
    // waiting for long.
    for (int round = 0; round < kRoundsPerTurn && !done && busy(); ++round) run_ready();
    if (!done) poll();
  }
}

}  // namespace farport::transport
