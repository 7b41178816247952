// HeapWalk: the heap that a runtime's garbage collector walks on request.
#pragma once

#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "events/methods.hpp"
#include "heap/heap.hpp"
#include "nettrace/event.hpp"

namespace farport::events {

/// The types of a runtime's objects by the runtime's ids. Types and objects may be reported in any order.
class TypeTable {
 public:
  TypeTable();

  /// Takes in an event about types or modules; ignores others.
  void add(const nettrace::Event& event);
  /// The index of a type. When the table is full, all new types share one index.
  [[nodiscard]] heap::TypeId find_or_add(std::uint64_t number);
  /// Counts an object of the type.
  void count(heap::TypeId type, std::uint64_t bytes) {
    ++types_[type].objects;
    types_[type].bytes += bytes;
  }
  /// Resets the counts of all types.
  void forget_objects();
  /// All types with their names. Call it after the last event.
  [[nodiscard]] std::vector<heap::Type> take();

 private:
  void add_types(nettrace::Cursor in);
  [[nodiscard]] bool has_room(std::size_t bytes);

  ModuleTable modules_;
  std::vector<heap::Type> types_;
  std::vector<std::uint64_t> module_of_;  ///< By the type's index.
  std::unordered_map<std::uint64_t, heap::TypeId> by_number_;
  std::size_t held_ = 0;
};

/// Approximate limit of a type table's memory.
inline constexpr std::size_t kMaxTypeBytes = std::size_t{128} << 20;

/// Handles the events of a session with kHeapSnapshotKeywords: the runtime collects at once, and reports the
/// surviving objects before that collection ends.
class HeapWalk final : public nettrace::Handler {
 public:
  enum class Keep : std::uint8_t {
    types,    ///< Number and size of objects per type.
    objects,  ///< Also each object and its references.
  };
  explicit HeapWalk(Keep keep);

  void on_trace(const nettrace::TraceHeader& trace) override;
  void on_event(const nettrace::Event& event) override;
  void on_dropped(const nettrace::Thread& thread, std::uint32_t events) override;

  /// Whether the walk is complete. Names of modules come after that.
  [[nodiscard]] bool ended() const {
    return over_ && heap_.objects > 0 && expected_references_ == heap_.references;
  }
  /// Whether any object was reported.
  [[nodiscard]] bool begun() const { return heap_.objects > 0; }
  /// Whether the runtime has dropped parts of it.
  [[nodiscard]] bool lacks_parts() const { return dropped_; }
  /// Whether nothing more is worth waiting for: there is no graph without all objects.
  [[nodiscard]] bool has_enough() const { return ended() || (keep_ == Keep::objects && dropped_); }
  /// The heap. Call it after the last event.
  [[nodiscard]] heap::Heap take();

 private:
  /// Start and end of a collection. Different threads report them, so they may come in any order.
  struct Collection {
    std::uint32_t number = 0;
    std::optional<std::int64_t> begun;  ///< In ticks, as are the others.
    std::optional<std::int64_t> over;
  };

  void take_heap_event(const nettrace::Event& event);
  void begin_collection(nettrace::Cursor in, std::int64_t time);
  void end_collection(nettrace::Cursor in, std::int64_t time);
  [[nodiscard]] Collection& collection(std::uint32_t number);
  void begin_walk(std::int64_t time);
  void find_end();
  /// The expected number of the next event of a numbered kind; nullptr for other kinds.
  [[nodiscard]] std::uint32_t* next_of(std::uint32_t id);
  /// Whether an event is the first of a walk. Each kind has a buffer and is reported when that is full, so
  /// any kind may come first: an array's references may fill their buffer before the object is reported.
  [[nodiscard]] bool begins_walk(nettrace::Cursor in, std::uint32_t next) const;
  void add_objects(nettrace::Cursor in);
  void add_references(nettrace::Cursor in);
  void add_roots(nettrace::Cursor in);
  void add_dependent(nettrace::Cursor in);
  void add_statics(nettrace::Cursor in);
  /// Reads the count of a bulk event, and checks its number.
  std::uint32_t read_count(nettrace::Cursor& in, std::uint32_t& expected);
  [[nodiscard]] std::uint64_t read_address(nettrace::Cursor& in) const;
  /// Whether the graph may grow by `bytes`; otherwise it is dropped.
  [[nodiscard]] bool has_room(std::size_t bytes);

  std::deque<Collection> collections_;  ///< The latest ones.
  bool dropped_ = false;                ///< Whether events of the walk were dropped.
  std::optional<std::int64_t> begun_;   ///< When the first event of the walk came.
  std::optional<std::int64_t> over_;    ///< When the collection of the walk ended.
  std::uint32_t next_objects_ = 0;
  std::uint32_t next_references_ = 0;
  std::uint32_t next_roots_ = 0;
  std::uint32_t next_dependents_ = 0;
  std::uint64_t expected_references_ = 0;  ///< Sum of the reference counts that objects report.
  TypeTable types_;
  Keep keep_;
  heap::Heap heap_;
  std::size_t held_ = 0;
};

/// Approximate limit for objects and references: some 25 million typical objects. A larger heap has no graph.
inline constexpr std::size_t kMaxGraphBytes = std::size_t{1} << 30;

}  // namespace farport::events
