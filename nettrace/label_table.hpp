// The label lists that events of format 6 refer to, from one sequence point to the next.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "nettrace/cursor.hpp"

namespace farport::nettrace {

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

}  // namespace farport::nettrace
