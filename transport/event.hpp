// What coroutines can wait for: an auto-reset event, a condition, and a request to stop.
#pragma once

#include <algorithm>

#include "transport/loop.hpp"

namespace farport::transport {

/// An auto-reset event. set() resumes all current waiters; if there are none, the next wait() passes at once.
class Event {
 public:
  explicit Event(Loop& loop) : loop_(loop) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void set() {
    set_ = true;
    waiting_.for_each([this](ListNode& waiter) { loop_.make_ready(static_cast<Waiter&>(waiter)); });
  }

  class [[nodiscard]] Wait {
   public:
    explicit Wait(Event& event) : event_(event) {}
    [[nodiscard]] bool await_ready() const noexcept { return event_.set_; }
    void await_suspend(std::coroutine_handle<> coroutine) {
      waiter_.coroutine = coroutine;
      event_.waiting_.push(waiter_);
    }
    void await_resume() { event_.set_ = false; }

   private:
    Event& event_;
    Waiter waiter_;
  };
  Wait wait() { return Wait(*this); }

 private:
  Loop& loop_;
  bool set_ = false;
  NodeList waiting_;
};

/// A condition that any number of coroutines can wait for. changed() resumes the current waiters.
class Condition {
 public:
  explicit Condition(Loop& loop) : loop_(loop) {}
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  void changed() {
    waiting_.for_each([this](ListNode& waiter) { loop_.make_ready(static_cast<Waiter&>(waiter)); });
  }

  class [[nodiscard]] Wait {
   public:
    explicit Wait(Condition& condition) : condition_(condition) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> coroutine) {
      waiter_.coroutine = coroutine;
      condition_.waiting_.push(waiter_);
    }
    void await_resume() const noexcept {}

   private:
    Condition& condition_;
    Waiter waiter_;
  };
  Wait wait() { return Wait(*this); }

 private:
  Loop& loop_;
  NodeList waiting_;
};

/// A request to stop, such as Ctrl-C. The first asks for an orderly end, the second for an immediate one. It
/// stays set and has any number of waiters, so it can be handed down to everything that may take long.
class StopSource {
 public:
  explicit StopSource(Loop& loop) : changed_(loop) {}
  StopSource(const StopSource&) = delete;
  StopSource& operator=(const StopSource&) = delete;

  /// Asks to stop, once more if that was asked before.
  void stop() {
    ++requests_;
    changed_.changed();
  }

  [[nodiscard]] bool stopped() const { return requests_ > 0; }

  class [[nodiscard]] Wait {
   public:
    Wait(StopSource& source, unsigned before)
        : source_(source), before_(before), change_(source.changed_.wait()) {}
    [[nodiscard]] bool await_ready() const noexcept { return source_.requests_ > before_; }
    void await_suspend(std::coroutine_handle<> coroutine) { change_.await_suspend(coroutine); }
    void await_resume() const noexcept {}

   private:
    StopSource& source_;
    unsigned before_;
    Condition::Wait change_;
  };
  /// Passes at the first request.
  Wait wait() { return {*this, 0}; }
  /// Passes at the second request if the first one came before this call, otherwise at the first.
  Wait again() { return {*this, std::min(requests_, 1U)}; }

 private:
  unsigned requests_ = 0;
  Condition changed_;
};

}  // namespace farport::transport
