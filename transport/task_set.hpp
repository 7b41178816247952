// TaskSet: owns and runs tasks that nobody awaits.
#pragma once

#include <cstddef>

#include "transport/event.hpp"

namespace farport::transport {

/// Owns the tasks that are spawned in it; each is freed when it ends. Destroying the set cancels those that
/// still run. An exception from a task ends the program: expected failures are values.
class TaskSet {
 public:
  explicit TaskSet(Loop& loop) : became_idle_(loop) {}
  TaskSet(const TaskSet&) = delete;
  TaskSet& operator=(const TaskSet&) = delete;
  ~TaskSet() { clear(); }

  /// Starts `task` at once, on the caller's stack, up to its first suspension.
  void spawn(Task<void> task);
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Cancels all tasks. Never call it (or destroy the set) from inside one of them.
  void clear();
  /// Waits until no task runs.
  Task<void> idle();

 private:
  struct Root;
  static Root supervise(TaskSet& set, Task<void> task);

  NodeList running_;
  std::size_t size_ = 0;
  Event became_idle_;
};

}  // namespace farport::transport
