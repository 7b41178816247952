// at_rest(): work for when a process has nothing else to do.
#pragma once

#include <optional>

#include "transport/task.hpp"
#include "transport/timer.hpp"

namespace farport::transport {

inline constexpr Milliseconds kUntilRest{3000};

/// Calls `act()` once the result of `look()` has stayed the same for `pause`, and again each time that it has
/// changed and then stayed the same, or has gone on changing for twenty pauses. Never ends.
template <typename Look, typename Act>
Task<void> at_rest(Loop& loop, Look look, Act act, Milliseconds pause = kUntilRest) {
  constexpr int kLongestUnrest = 20;
  auto before = look();
  decltype(std::optional(before)) acted;
  for (int pauses = 1;; ++pauses) {
    co_await sleep(loop, pause);
    auto now = look();
    if (now != acted && (now == before || pauses >= kLongestUnrest)) {
      pauses = 0;
      acted = now;
      act();
    }
    before = std::move(now);
  }
}

}  // namespace farport::transport
