// Going through the processes in /proc, of which there may be very many.
#pragma once

#include <chrono>
#include <functional>

#include <sys/types.h>

namespace farport::router {

/// Of another thread's time, in each look at processes.
inline constexpr std::chrono::milliseconds kLookBudget{500};
/// What is read of a mountinfo at most.
inline constexpr std::size_t kMaxMountInfo = 256 * 1024;

/// A round through all processes, in as many calls as it takes.
class ProcessWalk {
 public:
  /// Calls `each` for processes, ascending, from where the last call has ended, for no longer than `budget`.
  /// Returns whether the round is over; never where /proc can't be read.
  [[nodiscard]] bool go_on(std::chrono::milliseconds budget, const std::function<void(pid_t)>& each);

 private:
  pid_t next_ = 0;
};

}  // namespace farport::router
