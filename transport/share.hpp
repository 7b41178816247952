// Share: how much of the loop's time one party may take. A loop has one thread: a party that keeps it busy
// keeps all others waiting.
#pragma once

#include <chrono>
#include <cstdint>

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

}  // namespace farport::transport
