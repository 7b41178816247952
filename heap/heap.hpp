// What a collector has found alive: types, and on request the objects with what they refer to.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace farport::heap {

/// Its place in Heap::types.
using TypeId = std::uint32_t;

struct Type {
  std::string name;    ///< "System.Collections.Generic.List<Orders.Order>". Empty where it is not known.
  std::string module;  ///< The file that it is from, without its directory. Empty where it is not known.
  std::uint64_t number = 0;  ///< By which the runtime knows it.
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;  ///< Of all its objects.
};

/// What is shown of a type: its name, or its number.
[[nodiscard]] std::string label_of(const Type& type);

struct Object {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  TypeId type = 0;
  std::uint32_t references = 0;  ///< How many there are from it.
};

/// What keeps an object alive that nothing in the heap has to refer to.
enum class RootKind : std::uint8_t { local, finalizer, handle, pinning_handle, dependent_handle, other };

struct Root {
  std::uint64_t object = 0;  ///< Its address.
  RootKind kind = RootKind::other;
};

/// A static field that refers to an object.
struct StaticField {
  std::uint64_t object = 0;  ///< Its address.
  TypeId type = 0;           ///< Whose field it is.
  bool of_thread = false;    ///< Each thread has its own.
  std::string name;
};

/// Objects and who refers to whom. In deques: what is large is never copied to grow.
struct Graph {
  std::deque<Object> objects;
  /// The addresses that the objects refer to: those of the first object first.
  std::deque<std::uint64_t> references;
  std::deque<Root> roots;
  std::deque<StaticField> statics;
};

struct Heap {
  std::vector<Type> types;  ///< In no order; some may have no objects.
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  std::uint64_t references = 0;
  bool complete = true;        ///< False: parts have got lost on the way.
  std::optional<Graph> graph;  ///< Nothing where it was not asked for, was too large or is not complete.
  unsigned pointer_bytes = 8;
  std::uint64_t pid = 0;
  std::int64_t taken = 0;  ///< In units of 100 ns since 1970 (UTC).
};

/// The types that take the most.
/// Types that have objects: by their bytes, then by how many objects there are, the greatest first; at most
/// `most`.
[[nodiscard]] std::vector<TypeId> largest_types(const Heap& heap, std::size_t most);

/// What a heap holds as JSON.
/// One object, with the types that take most, `most` of them. `process`: its name.
[[nodiscard]] std::string to_json(const Heap& heap, const std::string& process, std::size_t most);

}  // namespace farport::heap
