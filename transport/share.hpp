// Limits on the time that work may keep the loop's one thread: Share for a party, TurnBudget for a coroutine.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "transport/loop.hpp"
#include "transport/timer.hpp"

namespace farport::transport {

/// Bounds how long one party's work keeps the loop busy in one turn, since all others wait meanwhile. Callers
/// measure the work: they ask before they begin and charge the time afterwards. Waiting callers proceed in
/// order of arrival, at least one in each turn.
class Share final : private Timer {
 public:
  using Clock = std::chrono::steady_clock;

  Share(Loop& loop, Clock::duration per_turn) : Timer(loop), per_turn_(per_turn) {}
  ~Share() = default;

  /// Whether the party has used its time in this turn, must rest, or has callers waiting already.
  [[nodiscard]] bool used_up();
  /// Charges time that work has taken.
  void charge(Clock::duration took);
  /// Suspends this party's work for `pause`. The rest that ends last counts.
  void rest(Milliseconds pause);

  class [[nodiscard]] Turn;
  /// co_await turn(): passes at once unless used_up(); otherwise waits for the caller's turn.
  [[nodiscard]] Turn turn();

 private:
  void on_time() override;
  void wake_in(Milliseconds delay);
  void wake_next();
  void begin_turn();
  [[nodiscard]] bool exhausted() const;

  Clock::duration per_turn_;
  Clock::duration used_{};
  std::uint64_t turn_ = 0;         ///< The turn in which `used_` was used.
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

/// Charges a share with the time for which it exists.
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

/// How long one TurnBudget may keep other coroutines waiting. Those that wait for a poll may wait four times
/// as long, since a turn of the event loop has as many rounds.
inline constexpr std::chrono::microseconds kWorkPerTurn{500};

/// Limits one coroutine that might go on and on, such as one that accepts connections or walks a long list.
/// Counts the time since the first yield_if_used_up() of the turn, or since it last yielded. A Share limits
/// all work of one party instead.
class TurnBudget {
 public:
  using Clock = std::chrono::steady_clock;

  explicit TurnBudget(Loop& loop, Clock::duration per_turn = kWorkPerTurn)
      : loop_(loop), per_turn_(per_turn) {}
  TurnBudget(const TurnBudget&) = delete;
  TurnBudget& operator=(const TurnBudget&) = delete;

  class [[nodiscard]] Yield;
  /// co_await yield_if_used_up(): passes at once while the budget lasts; otherwise lets all others run first.
  /// Call it for each piece of work. For one caller at a time.
  Yield yield_if_used_up();

 private:
  [[nodiscard]] bool lasts();
  void renew(Clock::time_point now) {
    turn_ = loop_.turn();
    began_ = now;
  }

  Loop& loop_;
  Clock::duration per_turn_;
  std::optional<std::uint64_t> turn_;  ///< The turn in which `began_` was set.
  Clock::time_point began_{};
};

class TurnBudget::Yield {
 public:
  explicit Yield(TurnBudget& budget) : budget_(budget) {}
  Yield(const Yield&) = delete;
  Yield& operator=(const Yield&) = delete;
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

inline TurnBudget::Yield TurnBudget::yield_if_used_up() {
  return Yield(*this);
}

inline bool TurnBudget::lasts() {
  const Clock::time_point now = Clock::now();
  if (turn_ == loop_.turn()) return now - began_ < per_turn_;
  renew(now);
  return true;
}

}  // namespace farport::transport
