// Semaphore: lets a limited number of coroutines at a time do something, in the order in which they came.
#pragma once

#include <cstddef>
#include <utility>

#include "transport/loop.hpp"

namespace farport::transport {

class Semaphore {
 public:
  Semaphore(Loop& loop, std::size_t at_once) : loop_(loop), free_(at_once) {}
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  /// One of them, until it is destroyed. Must not outlive the Semaphore.
  class [[nodiscard]] Place {
   public:
    Place(Place&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    Place& operator=(Place&&) = delete;
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() {
      if (of_ != nullptr) of_->give_back();
    }

   private:
    friend class Semaphore;
    explicit Place(Semaphore& of) : of_(&of) {}

    Semaphore* of_;
  };

  class [[nodiscard]] Wait {
   public:
    explicit Wait(Semaphore& of) : of_(of) {}
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    ~Wait() {
      if (waiting_.has_place) of_.give_back();
    }
    [[nodiscard]] bool await_ready() {
      waiting_.has_place = of_.free_ > 0;
      if (waiting_.has_place) --of_.free_;
      return waiting_.has_place;
    }
    void await_suspend(std::coroutine_handle<> coroutine) {
      waiting_.coroutine = coroutine;
      of_.waiting_.push(waiting_);
    }
    Place await_resume() {
      waiting_.has_place = false;
      return Place(of_);
    }

   private:
    friend class Semaphore;
    struct Waiting : Waiter {
      bool has_place = false;  ///< It may be cancelled before it goes on.
    };

    Semaphore& of_;
    Waiting waiting_;
  };
  /// Waits for a place.
  Wait take() { return Wait(*this); }

 private:
  /// To the one that has waited longest, even if others ask before that one goes on.
  void give_back() {
    ListNode* const next = waiting_.pop();
    if (next == nullptr) {
      ++free_;
      return;
    }
    auto& waiting = static_cast<Wait::Waiting&>(*next);
    waiting.has_place = true;
    loop_.make_ready(waiting);
  }

  Loop& loop_;
  std::size_t free_;
  NodeList waiting_;
};

}  // namespace farport::transport
