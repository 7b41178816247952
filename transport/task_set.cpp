#include "transport/task_set.hpp"

#include <utility>

namespace farport::transport {

/// A coroutine that owns itself: its frame is freed when it ends, or when the set destroys it.
struct TaskSet::Root {
  struct promise_type : ListNode {
    Root get_return_object() { return Root{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
    [[nodiscard]] std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

TaskSet::Root TaskSet::supervise(TaskSet& set, Task<void> task) {
  struct Leave {
    TaskSet& set;
    ~Leave() {
      if (--set.size_ == 0) set.became_idle_.set();
    }
  } const leave{set};
  // Owned here, so that what the task holds is destroyed before the set learns of its end.
  const Task<void> owned = std::move(task);
  co_await owned;
}

void TaskSet::spawn(Task<void> task) {
  const Root root = supervise(*this, std::move(task));
  ++size_;
  running_.push(root.handle.promise());
  root.handle.resume();
}

void TaskSet::clear() {
  while (ListNode* node = running_.pop()) {
    std::coroutine_handle<Root::promise_type>::from_promise(*static_cast<Root::promise_type*>(node))
        .destroy();
  }
}

Task<void> TaskSet::idle() {
  while (size_ > 0) co_await became_idle_.wait();
}

}  // namespace farport::transport
