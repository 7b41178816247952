// Task<T>: a lazy coroutine with one owner. It starts when it is awaited (or spawned in a TaskSet).
// Destroying it at a suspension point destroys everything that it holds, which is how work is cancelled.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace farport::transport {

template <typename T>
class Task;

namespace detail {

struct PromiseBase {
  std::coroutine_handle<> continuation = std::noop_coroutine();
  std::exception_ptr exception;

  /// Symmetric transfer to the coroutine that awaits the task, so that long chains don't grow the stack.
  struct FinalAwaiter {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> finished) const noexcept {
      return finished.promise().continuation;
    }
    void await_resume() const noexcept {}
  };

  [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
  [[nodiscard]] FinalAwaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { exception = std::current_exception(); }
};

template <typename T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  template <typename U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T take() {
    if (exception) std::rethrow_exception(exception);
    return std::move(*value);
  }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() const noexcept {}
  void take() const {
    if (exception) std::rethrow_exception(exception);
  }
};

}  // namespace detail

template <typename T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  Task() = default;
  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task() { reset(); }

  /// Destroys the suspended coroutine. Never call it from inside the coroutine itself.
  void reset() {
    if (handle_) std::exchange(handle_, nullptr).destroy();
  }

  struct Awaiter {
    Handle handle;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) const noexcept {
      handle.promise().continuation = awaiting;
      return handle;
    }
    T await_resume() const { return handle.promise().take(); }
  };
  Awaiter operator co_await() const noexcept { return Awaiter{handle_}; }

  /// co_await task.finished(): runs the task to its end and leaves its result for take().
  struct FinishedAwaiter : Awaiter {
    void await_resume() const noexcept {}
  };
  [[nodiscard]] FinishedAwaiter finished() const noexcept { return FinishedAwaiter{{handle_}}; }
  /// The result of a finished task, or its exception.
  T take() { return handle_.promise().take(); }
  /// Runs the task to its first suspension. For a task that nobody awaits.
  void start() const { handle_.resume(); }
  /// Whether a started task has finished.
  [[nodiscard]] bool done() const { return handle_.done(); }
  /// Resumes `coroutine` when a started task ends.
  void then(std::coroutine_handle<> coroutine) const { handle_.promise().continuation = coroutine; }

 private:
  Handle handle_;
};

template <typename T>
Task<T> detail::Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}

inline Task<void> detail::Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

}  // namespace farport::transport
