#include "nettrace/definition_table.hpp"

#include "nettrace/limits.hpp"

namespace farport::nettrace {

Result<const Definition*> DefinitionTable::add(Definition definition, std::uint64_t offset) {
  held_ += held_bytes(definition);
  if (held_ > kMostDefinitionBytes) return fail_at(offset, "there are too many kinds of events");
  const std::uint32_t id = definition.id;
  if (id == 0) return fail_at(offset, "a kind of events has no id");
  const auto [added, is_new] = definitions_.try_emplace(id, std::move(definition));
  if (!is_new) return fail_at(offset, "a kind of events is defined twice");
  return &added->second;
}

const Definition* DefinitionTable::find(std::uint32_t id) const {
  const auto found = definitions_.find(id);
  return found == definitions_.end() ? nullptr : &found->second;
}

void DefinitionTable::clear() {
  definitions_.clear();
  held_ = 0;
}

}  // namespace farport::nettrace
