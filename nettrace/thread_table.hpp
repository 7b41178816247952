// The threads that write events, and how many of each one's events are missing.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "nettrace/cursor.hpp"

namespace farport::nettrace {

struct Thread {
  std::uint64_t id = 0;          ///< The operating system's; 0 where it is not known (format 6).
  std::uint64_t process_id = 0;  ///< The same.
  std::string name;              ///< Format 6, mostly empty.

  /// The number of the last event that is known to have been written, or dropped.
  std::uint32_t last_event = 0;
  /// When it was last named: see ThreadTable::forget_unnamed().
  std::uint32_t named = 0;
};

/// Notes that `number` was given to an event of the thread, which has come if `came`. How many events before
/// it (and itself, if it has not come) are missing ("Event Sequence Numbers"). A number that goes back says
/// nothing of that: a new thread has an old one's id (formats 4 and 5), or what is known of a thread is no
/// more than a lower bound.
[[nodiscard]] std::uint32_t note_event(Thread& thread, std::uint32_t number, bool came);

/// By what events call them: ids (formats 4 and 5) or indexes (format 6). Pointers to threads are valid until
/// the next call that adds or removes.
class ThreadTable {
 public:
  /// Takes a ThreadBlock in (format 6). Fails beyond the limits.
  [[nodiscard]] Result<void> read_block(Cursor block);

  /// Fails where it is not known. `offset`: where it is named in the stream.
  [[nodiscard]] Result<Thread*> find(std::uint64_t name, std::uint64_t offset);
  /// The same for formats 4 and 5, which do not introduce threads: one that is not known is added, with that
  /// process and its last event. Fails beyond the limits.
  [[nodiscard]] Result<Thread*> find_or_add(std::uint64_t id, std::uint64_t process_id,
                                            std::uint32_t last_event, std::uint64_t offset);

  void remove(std::uint64_t name);
  void clear();

  /// A sequence point of formats 4 and 5 names every thread that there is. Call this before they are named
  /// with name_at_point() ...
  void begin_point() { ++point_; }
  void name_at_point(Thread& thread) const { thread.named = point_; }
  /// ... and this afterwards: the others have ended.
  void forget_unnamed();

 private:
  std::unordered_map<std::uint64_t, Thread> threads_;
  std::size_t name_bytes_ = 0;
  std::uint32_t point_ = 0;
};

}  // namespace farport::nettrace
