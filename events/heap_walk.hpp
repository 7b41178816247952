// The heap that a runtime's collector walks for whoever asks for it.
#pragma once

#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "events/methods.hpp"
#include "heap/heap.hpp"
#include "nettrace/event.hpp"

namespace farport::events {

// The types of a runtime's objects, by the numbers that it has for them.

/// Built from what a runtime tells of types and of objects, whichever comes first.
class TypeTable {
 public:
  TypeTable();

  /// Takes in the types that the event tells of, or a module, if it is one that does.
  void add(const nettrace::Event& event);
  /// The type's place. One that is told of when the table is full has the place of all such types.
  [[nodiscard]] heap::TypeId find_or_add(std::uint64_t number);
  /// Counts an object of the type.
  void count(heap::TypeId type, std::uint64_t bytes) {
    ++types_[type].objects;
    types_[type].bytes += bytes;
  }
  /// Forgets which objects there are.
  void forget_objects();
  /// All types with their names, once nothing more comes.
  [[nodiscard]] std::vector<heap::Type> take();

 private:
  void add_types(nettrace::Cursor in);
  [[nodiscard]] bool has_room(std::size_t bytes);

  ModuleTable modules_;
  std::vector<heap::Type> types_;
  std::vector<std::uint64_t> module_of_;  ///< By the type's place.
  std::unordered_map<std::uint64_t, heap::TypeId> by_number_;
  std::size_t held_ = 0;
};

/// What a table of types holds at most, about.
inline constexpr std::size_t kMostTypeBytes = std::size_t{128} << 20;

/// Takes the events of a session that is begun with kHeapSnapshotKeywords: the runtime collects at once, and
/// tells what has survived before that collection ends.
class HeapWalk final : public nettrace::Handler {
 public:
  enum class Keep : std::uint8_t {
    types,    ///< How many objects there are of each.
    objects,  ///< Each object, and what it refers to, too.
  };
  explicit HeapWalk(Keep keep);

  void on_trace(const nettrace::TraceHeader& trace) override;
  void on_event(const nettrace::Event& event) override;
  void on_dropped(const nettrace::Thread& thread, std::uint32_t events) override;

  /// Whether the walk has come to its end. Names of modules come after that.
  [[nodiscard]] bool ended() const { return over_ && heap_.objects > 0 && referred_ == heap_.references; }
  /// Whether an object has been told of.
  [[nodiscard]] bool begun() const { return heap_.objects > 0; }
  /// The heap, once nothing more comes.
  [[nodiscard]] heap::Heap take();

 private:
  /// A collection, as its two ends are told: by different threads, and so in any order.
  struct Collection {
    std::uint32_t number = 0;
    std::optional<std::int64_t> begun;  ///< In ticks, as the rest.
    std::optional<std::int64_t> over;
  };

  void take_heap_event(const nettrace::Event& event);
  void begin_collection(nettrace::Cursor in, std::int64_t time);
  void end_collection(nettrace::Cursor in, std::int64_t time);
  [[nodiscard]] Collection& collection(std::uint32_t number);
  void begin_walk(std::int64_t time);
  void find_end();
  /// The number that the next event of a kind has whose events are numbered; null for the others.
  [[nodiscard]] std::uint32_t* next_of(std::uint32_t id);
  /// Whether an event is the first of a walk. Each kind is told of when its buffer is full, and so any kind
  /// may be the first: an array's references fill theirs before its object does.
  [[nodiscard]] bool begins_walk(nettrace::Cursor in, std::uint32_t next) const;
  void add_objects(nettrace::Cursor in);
  void add_references(nettrace::Cursor in);
  void add_roots(nettrace::Cursor in);
  void add_dependent(nettrace::Cursor in);
  void add_statics(nettrace::Cursor in);
  /// The count of a bulk event, which are numbered.
  std::uint32_t read_count(nettrace::Cursor& in, std::uint32_t& expected);
  [[nodiscard]] std::uint64_t read_address(nettrace::Cursor& in) const;
  /// Whether the graph may take so much more; it is given up where not.
  [[nodiscard]] bool has_room(std::size_t bytes);

  std::deque<Collection> collections_;  ///< The last ones.
  std::optional<std::int64_t> begun_;   ///< When the first of it was told.
  std::optional<std::int64_t> over_;    ///< When the collection ended that the walk is part of.
  std::uint32_t next_objects_ = 0;
  std::uint32_t next_references_ = 0;
  std::uint32_t next_roots_ = 0;
  std::uint32_t next_dependents_ = 0;
  std::uint64_t referred_ = 0;  ///< How many references the objects say they have.
  TypeTable types_;
  Keep keep_;
  heap::Heap heap_;
  std::size_t held_ = 0;
};

/// What the objects and what they refer to may take, about. There is no graph of a heap that takes more: some
/// 25 million objects of the usual kind.
inline constexpr std::size_t kMostGraphBytes = std::size_t{1} << 30;

}  // namespace farport::events
