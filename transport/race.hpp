// Races: work that is cancelled by whatever may end it early, such as a deadline or an event.
//
// The loser stops waiting once the race is decided. Destroying a race, with the coroutine that waits for it,
// cancels both sides.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include "transport/task.hpp"
#include "transport/timer.hpp"

namespace farport::transport {

namespace detail {

/// The result of work that may have been cancelled: its value or nothing. For Task<void>: whether it
/// finished.
template <typename T>
using InTime = std::conditional_t<std::is_void_v<T>, bool, std::optional<T>>;

template <typename T, typename Take>
InTime<T> in_time(Take take) {
  if constexpr (std::is_void_v<T>) {
    take();
    return true;
  } else {
    return take();
  }
}

template <typename Awaitable>
using Awaited = decltype(std::declval<Awaitable&>().await_resume());

}  // namespace detail

/// See first_of().
template <typename T, typename Other>
class [[nodiscard]] FirstOf {
 public:
  FirstOf(Task<T> work, Other& other) : work_(std::move(work)), other_(other) {}
  FirstOf(const FirstOf&) = delete;
  FirstOf& operator=(const FirstOf&) = delete;

  [[nodiscard]] bool await_ready() {
    work_.start();
    return work_.done() || other_.await_ready();
  }
  void await_suspend(std::coroutine_handle<> racing) {
    work_.then(racing);
    other_.await_suspend(racing);
  }
  detail::InTime<T> await_resume() {
    if (work_.done()) return detail::in_time<T>([this] { return work_.take(); });
    work_.reset();
    other_.await_resume();
    return {};
  }

 private:
  Task<T> work_;
  Other& other_;
};

/// co_await first_of(work, other): runs `work` until it ends or `other` passes, whichever comes first.
/// Returns the work's result or rethrows its exception; if the work was cancelled, nothing (or false for
/// Task<void>). `other` is any awaitable but a Task, such as event.wait() or stream.gone(). It is not started
/// if the work ends at once, and not consumed if the work wins: an Event stays set.
template <typename T, typename Other>
FirstOf<T, Other> first_of(Task<T> work, Other&& other) {
  return {std::move(work), other};
}

/// See with_deadline().
template <typename T>
class [[nodiscard]] TaskWithDeadline {
 public:
  TaskWithDeadline(Loop& loop, Task<T> work, Milliseconds limit)
      : limit_(loop, limit), race_(std::move(work), limit_) {}
  [[nodiscard]] bool await_ready() { return race_.await_ready(); }
  void await_suspend(std::coroutine_handle<> racing) { race_.await_suspend(racing); }
  detail::InTime<T> await_resume() { return race_.await_resume(); }

 private:
  Sleep limit_;
  FirstOf<T, Sleep> race_;
};

/// See with_deadline().
template <typename Awaitable>
class [[nodiscard]] WaitWithDeadline {
 public:
  WaitWithDeadline(Loop& loop, Awaitable& awaited, Milliseconds limit)
      : awaited_(awaited), limit_(loop, limit) {}
  [[nodiscard]] bool await_ready() { return awaited_.await_ready(); }
  void await_suspend(std::coroutine_handle<> racing) {
    awaited_.await_suspend(racing);
    limit_.await_suspend(racing);
  }
  detail::InTime<detail::Awaited<Awaitable>> await_resume() {
    if (limit_.over()) return {};
    return detail::in_time<detail::Awaited<Awaitable>>([this] { return awaited_.await_resume(); });
  }

 private:
  Awaitable& awaited_;
  Sleep limit_;
};

/// co_await with_deadline(loop, work, limit): runs `work` for at most `limit`. Returns its result or rethrows
/// its exception; if it was cancelled, nothing (or false for Task<void>). No timer is started if the work
/// ends at once.
template <typename T>
TaskWithDeadline<T> with_deadline(Loop& loop, Task<T> work, Milliseconds limit) {
  return {loop, std::move(work), limit};
}

/// co_await with_deadline(loop, event.wait(), limit): waits for at most `limit`. Returns what was awaited, or
/// true if that is void; nothing, or false, on expiry. If both come in one turn of the loop, the limit wins.
template <typename Awaitable>
WaitWithDeadline<std::remove_reference_t<Awaitable>> with_deadline(Loop& loop, Awaitable&& awaited,
                                                                   Milliseconds limit) {
  return {loop, awaited, limit};
}

}  // namespace farport::transport
