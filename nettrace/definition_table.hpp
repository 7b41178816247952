// The definitions that events refer to.
#pragma once

#include <cstdint>
#include <unordered_map>

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

}  // namespace farport::nettrace
