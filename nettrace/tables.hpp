// Tables of definitions, stacks, labels and threads that events refer to.
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
  /// Fails if the id is 0 or exists already, or beyond kMaxDefinitionBytes. `offset`: position in the
  /// stream, for errors. The result is valid until clear().
  [[nodiscard]] Result<const Definition*> add(Definition definition, std::uint64_t offset);

  /// nullptr if the id is unknown. Valid until clear().
  [[nodiscard]] const Definition* find(std::uint32_t id) const;

  void clear();

 private:
  std::unordered_map<std::uint32_t, Definition> definitions_;
  std::size_t held_ = 0;
};

/// A view of a stack's addresses, the innermost first.
class Stack {
 public:
  Stack() = default;
  /// `bytes` must consist of whole pointers.
  Stack(BytesView bytes, std::size_t pointer_size) : bytes_(bytes), pointer_size_(pointer_size) {}

  [[nodiscard]] std::size_t size() const { return bytes_.size() / pointer_size_; }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  /// `at` must be less than size().
  [[nodiscard]] std::uint64_t operator[](std::size_t at) const {
    std::uint64_t address = 0;
    std::memcpy(&address, bytes_.data() + at * pointer_size_, pointer_size_);
    return address;
  }

 private:
  BytesView bytes_;
  std::size_t pointer_size_ = 8;
};

/// Stacks, valid until the next sequence point.
class StackTable {
 public:
  /// Adds a StackBlock. Fails if sizes and counts don't fit, if an id occurs twice, or beyond
  /// kMaxStackBytes.
  [[nodiscard]] Result<void> read_block(Cursor block, std::size_t pointer_size);

  /// nullptr if the id is unknown. Id 0 is the empty stack unless it was defined. Valid until the table
  /// changes.
  [[nodiscard]] const Stack* find(std::uint32_t id) const;

  void clear();

 private:
  /// Approximate cost of a stack in the table without its addresses.
  static constexpr std::size_t kEntryBytes = 64;

  std::unordered_map<std::uint32_t, Stack> stacks_;
  /// The addresses of each block, to which the stacks refer.
  std::vector<std::vector<std::byte>> blocks_;
  std::size_t held_ = 0;
};

struct Label {
  std::string key;
  std::variant<std::string, std::int64_t> value;
};

/// Additional information of an event, beside its payload.
struct LabelList {
  Guid activity_id;                      ///< All zero if there is none.
  Guid related_activity_id;              ///< All zero if there is none.
  std::array<std::byte, 16> trace_id{};  ///< Of W3C's trace context; all zero if there is none.
  std::uint64_t span_id = 0;             ///< Likewise.
  // If set, these override the definition's:
  std::optional<std::uint8_t> opcode;
  std::optional<std::uint64_t> keywords;
  std::optional<std::uint8_t> level;
  std::optional<std::uint8_t> version;
  std::vector<Label> others;
};

/// Label lists of format 6, valid until the next sequence point.
class LabelTable {
 public:
  /// Adds a LabelListBlock. Fails if it is broken, if a label has an unknown kind, since the next one can't
  /// be located then, or beyond kMaxLabelBytes.
  [[nodiscard]] Result<void> read_block(Cursor block);

  /// nullptr if the id is unknown. Id 0 is the empty list. Valid until the table changes.
  [[nodiscard]] const LabelList* find(std::uint32_t id) const;

  void clear();

 private:
  std::unordered_map<std::uint32_t, LabelList> lists_;
  std::size_t held_ = 0;
};

/// A thread that writes events, and which of its events were counted.

struct Thread {
  std::uint64_t id = 0;          ///< The operating system's; 0 if unknown (format 6).
  std::uint64_t process_id = 0;  ///< Likewise.
  std::string name;              ///< Format 6; usually empty.

  /// The number of the latest event known to be written or dropped.
  std::uint32_t last_event = 0;
  /// When it was last named; see ThreadTable::remove_unmarked().
  std::uint32_t named = 0;
};

/// Records that an event of the thread got `number`, and whether it came. Returns how many events before it
/// (and it, unless it came) are missing ("Event Sequence Numbers"). Returns 0 if the number goes back: a new
/// thread may reuse an old one's id (formats 4 and 5), or only a lower bound was known.
[[nodiscard]] std::uint32_t note_event(Thread& thread, std::uint32_t number, bool came);

/// Threads by the number that events use: an id (formats 4 and 5) or an index (format 6). Pointers are valid
/// until the next call that adds or removes threads.
class ThreadTable {
 public:
  /// Adds a ThreadBlock (format 6). Fails beyond the limits.
  [[nodiscard]] Result<void> read_block(Cursor block);

  /// Fails if the thread is unknown. `offset`: position of the reference in the stream, for errors.
  [[nodiscard]] Result<Thread*> find(std::uint64_t name, std::uint64_t offset);
  /// The same for formats 4 and 5, which do not introduce threads: an unknown one is added with this process
  /// and last event. Fails beyond the limits.
  [[nodiscard]] Result<Thread*> find_or_add(std::uint64_t id, std::uint64_t process_id,
                                            std::uint32_t last_event, std::uint64_t offset);

  void remove(std::uint64_t name);
  void clear();

  /// A sequence point of formats 4 and 5 names every existing thread. Call this first, then
  /// mark_at_sequence_point() for each ...
  void begin_sequence_point() { ++point_; }
  void mark_at_sequence_point(Thread& thread) const { thread.named = point_; }
  /// ... and this last, to remove the threads that were not named.
  void remove_unmarked();

 private:
  std::unordered_map<std::uint64_t, Thread> threads_;
  std::size_t name_bytes_ = 0;
  std::uint32_t point_ = 0;
};

}  // namespace farport::nettrace
