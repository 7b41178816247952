// The types of a runtime's objects, by the numbers that it has for them.
#pragma once

#include <unordered_map>
#include <vector>

#include "events/modules.hpp"
#include "heap/heap.hpp"

namespace farport::events {

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

}  // namespace farport::events
