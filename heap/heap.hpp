// Heap: the live objects that a garbage collection found, by type and optionally with references.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace farport::heap {

/// An index in Heap::types.
using TypeId = std::uint32_t;

struct Type {
  std::string name;          ///< "System.Collections.Generic.List<Orders.Order>"; empty if unknown.
  std::string module;        ///< Its file, without directory; empty if unknown.
  std::uint64_t number = 0;  ///< The runtime's id of it.
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;  ///< Of all its objects together.
};

/// The type's name, or its id if it has none.
[[nodiscard]] std::string label_of(const Type& type);

struct Object {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  TypeId type = 0;
  std::uint32_t references = 0;  ///< Number of its outgoing references.
};

/// Why an object is alive even if no other object refers to it.
enum class RootKind : std::uint8_t { local, finalizer, handle, pinning_handle, dependent_handle, other };

struct Root {
  std::uint64_t object = 0;  ///< Its address.
  RootKind kind = RootKind::other;
};

/// A static field that refers to an object.
struct StaticField {
  std::uint64_t object = 0;  ///< Its address.
  TypeId type = 0;           ///< The type that has the field.
  bool of_thread = false;    ///< Each thread has its own (ThreadStatic).
  std::string name;
};

/// Objects and references. In deques, so that large data is never copied to grow.
struct Graph {
  std::deque<Object> objects;
  /// The addresses that objects refer to, grouped by object in the order of `objects`.
  std::deque<std::uint64_t> references;
  std::deque<Root> roots;
  std::deque<StaticField> statics;
};

struct Heap {
  std::vector<Type> types;  ///< Unordered; some may have no objects.
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  std::uint64_t references = 0;
  bool complete = true;        ///< False if parts were lost.
  std::optional<Graph> graph;  ///< Empty if not requested, too large or incomplete.
  unsigned pointer_bytes = 8;
  std::uint64_t pid = 0;
  std::int64_t taken = 0;  ///< In units of 100 ns since 1970 (UTC).
};

/// Types that have objects, ordered by bytes and then by number of objects, largest first; at most `most`.
[[nodiscard]] std::vector<TypeId> largest_types(const Heap& heap, std::size_t most);

/// What it lacks, in sentences for people: parts that were lost, or names of types. Empty if it has
/// everything.
[[nodiscard]] std::vector<std::string> gaps_of(const Heap& heap);

/// The heap as one JSON object with the `most` largest types. `process`: its name.
[[nodiscard]] std::string to_json(const Heap& heap, const std::string& process, std::size_t most);

}  // namespace farport::heap
