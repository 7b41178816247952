// Share: how much of the loop's time one party may take. A loop has one thread: a party that keeps it busy
// keeps all others waiting.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "transport/loop.hpp"
#include "transport/timer.hpp"

namespace farport::transport {

/// Bounds how long the work of one party keeps the loop busy in one turn. Work is measured by its callers:
/// they ask before they begin, and charge what it took. Those who have to wait go on in the order in which
/// they came, at least one in each turn.
class Share final : private Timer {
 public:
  using Clock = std::chrono::steady_clock;

  Share(Loop& loop, Clock::duration per_turn) : Timer(loop), per_turn_(per_turn) {}
  ~Share() = default;

  /// Whether the party has had its part of this turn, or is to rest, or others of it wait already.
  [[nodiscard]] bool used_up();
  /// Counts work that has been done.
  void charge(Clock::duration took);
  /// Nothing of this party goes on for so long. The longest rest counts.
  void rest(Milliseconds pause);

  class [[nodiscard]] Turn;
  /// co_await turn(): passes at once unless used_up(), otherwise when it is the caller's turn.
  [[nodiscard]] Turn turn();

 private:
  void on_time() override;
  void wake_in(Milliseconds delay);
  void wake_next();
  void begin_turn();
  [[nodiscard]] bool exhausted() const;

  Clock::duration per_turn_;
  Clock::duration used_{};
  std::uint64_t turn_ = 0;         ///< Of the loop, in which `used_` was used.
  std::uint64_t rests_until_ = 0;  ///< On the loop's clock, in ms.
  bool waking_ = false;            ///< The timer runs.
  NodeList waiting_;
};

class Share::Turn {
 public:
  explicit Turn(Share& share) : share_(share) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  [[nodiscard]] bool await_ready() { return !share_.used_up(); }
  void await_suspend(std::coroutine_handle<> coroutine);
  void await_resume() const noexcept {}

 private:
  Share& share_;
  Waiter waiter_;
};

inline Share::Turn Share::turn() {
  return Turn(*this);
}

/// Charges a share with the time from its making to its end.
class Work {
 public:
  explicit Work(Share& share) : share_(share), began_(Share::Clock::now()) {}
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  ~Work() { share_.charge(Share::Clock::now() - began_); }

 private:
  Share& share_;
  Share::Clock::time_point began_;
};

// A turn's worth of work for loops that might go on and on, such as those that accept connections or go
// through long lists: what keeps the loop's thread busy keeps everything else waiting.

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
