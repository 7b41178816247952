// A turn's worth of work for loops that might go on and on, such as those that accept connections or go
// through long lists: what keeps the loop's thread busy keeps everything else waiting.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "transport/loop.hpp"

namespace farport::transport {

/// How long one loop of ours may keep other coroutines waiting at a time. Those who wait for a poll may have
/// to wait four times as long: as many rounds has a turn of the event loop.
inline constexpr std::chrono::microseconds kWorkPerTurn{500};

/// Counts the time since its owner has first asked in a turn of the loop, or has last given way. Unlike a
/// Share (share.hpp), it bounds one coroutine's work and not all that one party has others do.
class TurnBudget {
 public:
  using Clock = std::chrono::steady_clock;

  explicit TurnBudget(Loop& loop, Clock::duration per_turn = kWorkPerTurn)
      : loop_(loop), per_turn_(per_turn) {}
  TurnBudget(const TurnBudget&) = delete;
  TurnBudget& operator=(const TurnBudget&) = delete;

  class [[nodiscard]] GiveWay;
  /// co_await give_way(): passes at once while the budget lasts; lets everybody else run first once it is
  /// used up. To be called for each piece of the work. For one caller at a time.
  GiveWay give_way();

 private:
  [[nodiscard]] bool lasts();
  void renew(Clock::time_point now) {
    turn_ = loop_.turn();
    began_ = now;
  }

  Loop& loop_;
  Clock::duration per_turn_;
  std::optional<std::uint64_t> turn_;  ///< Of the loop, in which `began_` was.
  Clock::time_point began_{};
};

class TurnBudget::GiveWay {
 public:
  explicit GiveWay(TurnBudget& budget) : budget_(budget) {}
  GiveWay(const GiveWay&) = delete;
  GiveWay& operator=(const GiveWay&) = delete;
  [[nodiscard]] bool await_ready() { return passed_ = budget_.lasts(); }
  void await_suspend(std::coroutine_handle<> coroutine) {
    waiter_.coroutine = coroutine;
    budget_.loop_.make_ready(waiter_);
  }
  void await_resume() {
    if (!passed_) budget_.renew(Clock::now());
  }

 private:
  TurnBudget& budget_;
  Waiter waiter_;
  bool passed_ = false;
};

inline TurnBudget::GiveWay TurnBudget::give_way() {
  return GiveWay(*this);
}

inline bool TurnBudget::lasts() {
  const Clock::time_point now = Clock::now();
  if (turn_ == loop_.turn()) return now - began_ < per_turn_;
  renew(now);
  return true;
}

}  // namespace farport::transport
