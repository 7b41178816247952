// The stacks that events refer to, from one sequence point to the next.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "nettrace/cursor.hpp"

namespace farport::nettrace {

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

}  // namespace farport::nettrace
