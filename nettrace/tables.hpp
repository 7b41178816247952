// The definitions that events refer to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "nettrace/cursor.hpp"
#include "nettrace/definition.hpp"

namespace farport::nettrace {

class DefinitionTable {
 public:
  /// Fails where its id is 0 or known already, and beyond kMostDefinitionBytes. `offset`: where it is in the
  /// stream. What it points to is valid until clear().
  [[nodiscard]] Result<const Definition*> add(Definition definition, std::uint64_t offset);

  /// Nothing where it is not known. Valid until clear().
  [[nodiscard]] const Definition* find(std::uint32_t id) const;

  void clear();

 private:
  std::unordered_map<std::uint32_t, Definition> definitions_;
  std::size_t held_ = 0;
};

// The stacks that events refer to, from one sequence point to the next.

/// A view of addresses, the innermost first.
class Stack {
 public:
  Stack() = default;
  /// `bytes` holds whole pointers.
  Stack(BytesView bytes, std::size_t pointer_size) : bytes_(bytes), pointer_size_(pointer_size) {}

  [[nodiscard]] std::size_t size() const { return bytes_.size() / pointer_size_; }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  /// `at` is less than size().
  [[nodiscard]] std::uint64_t operator[](std::size_t at) const {
    std::uint64_t address = 0;
    std::memcpy(&address, bytes_.data() + at * pointer_size_, pointer_size_);
    return address;
  }

 private:
  BytesView bytes_;
  std::size_t pointer_size_ = 8;
};

class StackTable {
 public:
  /// Takes a StackBlock in. Fails where sizes and counts don't fit, where an id comes twice, and beyond
  /// kMostStackBytes.
  [[nodiscard]] Result<void> read_block(Cursor block, std::size_t pointer_size);

  /// Nothing where the id is not known. 0 is the empty stack, unless it has been defined. Valid until the
  /// table changes.
  [[nodiscard]] const Stack* find(std::uint32_t id) const;

  void clear();

 private:
  /// As many bytes as the table takes for each stack beside its addresses, about.
  static constexpr std::size_t kEntryBytes = 64;

  std::unordered_map<std::uint32_t, Stack> stacks_;
  /// What the views are of: each block's addresses as they came.
  std::vector<std::vector<std::byte>> blocks_;
  std::size_t held_ = 0;
};

// The label lists that events of format 6 refer to, from one sequence point to the next.

struct Label {
  std::string key;
  std::variant<std::string, std::int64_t> value;
};

/// What goes with an event beside its payload.
struct LabelList {
  Guid activity_id;                      ///< All zero where there is none.
  Guid related_activity_id;              ///< The same.
  std::array<std::byte, 16> trace_id{};  ///< Of W3C's trace context; all zero where there is none.
  std::uint64_t span_id = 0;             ///< The same.
  // Where they are given, they stand for those of the definition:
  std::optional<std::uint8_t> opcode;
  std::optional<std::uint64_t> keywords;
  std::optional<std::uint8_t> level;
  std::optional<std::uint8_t> version;
  std::vector<Label> others;
};

class LabelTable {
 public:
  /// Takes a LabelListBlock in. Fails where it is broken, where a label is of an unknown kind, since the next
  /// one can't be found then, and beyond kMostLabelBytes.
  [[nodiscard]] Result<void> read_block(Cursor block);

  /// Nothing where the id is not known. 0 is the empty list. Valid until the table changes.
  [[nodiscard]] const LabelList* find(std::uint32_t id) const;

  void clear();

 private:
  std::unordered_map<std::uint32_t, LabelList> lists_;
  std::size_t held_ = 0;
};

// The threads that write events, and how many of each one's events are missing.

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
