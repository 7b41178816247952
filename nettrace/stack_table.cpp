#include "nettrace/stack_table.hpp"

#include "nettrace/limits.hpp"

namespace farport::nettrace {

Result<void> StackTable::read_block(Cursor block, std::size_t pointer_size) {
  std::uint32_t id = block.u32();
  std::uint32_t left = block.u32();
  const std::uint64_t begin = block.offset();
  // A copy: the block itself is gone when the next one comes.
  const BytesView content = Cursor(block).take_rest();
  const std::vector<std::byte>& kept = blocks_.emplace_back(content.begin(), content.end());
  held_ += kept.size();
  Cursor in(kept, begin);
  for (; left > 0 && !in.failed(); --left, ++id) {
    const std::uint32_t size = in.u32();
    if (size % pointer_size != 0) in.reject("a stack does not consist of whole addresses");
    if (size / pointer_size > kMostFrames) in.reject("a stack is longer than any that there is");
    held_ += kEntryBytes;
    if (held_ > kMostStackBytes) in.reject("there are too many stacks without a sequence point");
    const BytesView addresses = in.take(size);
    if (!in.failed() && !stacks_.try_emplace(id, addresses, pointer_size).second) {
      in.reject("a stack is defined twice");
    }
  }
  if (block.failed()) return block.error();
  return in.outcome();
}

const Stack* StackTable::find(std::uint32_t id) const {
  static const Stack empty;
  const auto found = stacks_.find(id);
  if (found != stacks_.end()) return &found->second;
  return id == 0 ? &empty : nullptr;
}

void StackTable::clear() {
  stacks_.clear();
  blocks_.clear();
  held_ = 0;
}

}  // namespace farport::nettrace
