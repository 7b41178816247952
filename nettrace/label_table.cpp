#include "nettrace/label_table.hpp"

#include <algorithm>

#include "nettrace/limits.hpp"

namespace farport::nettrace {
namespace {

constexpr unsigned kLastLabel = 0x80;

enum class Kind : std::uint8_t {
  activity_id = 1,
  related_activity_id = 2,
  trace_id = 3,
  span_id = 4,
  text = 5,
  number = 6,
  opcode = 7,
  keywords = 8,
  level = 9,
  version = 10,
};

void read_label(Cursor& in, Kind kind, LabelList& into) {
  switch (kind) {
    case Kind::activity_id:
      into.activity_id = in.guid();
      return;
    case Kind::related_activity_id:
      into.related_activity_id = in.guid();
      return;
    case Kind::trace_id:
      into.trace_id = in.guid().bytes;
      return;
    case Kind::span_id:
      into.span_id = in.u64();
      return;
    case Kind::text:
    case Kind::number: {
      if (into.others.size() == kMostLabels) in.reject("a label list is too long");
      Label& label = into.others.emplace_back();
      label.key = in.utf8();
      if (kind == Kind::text) label.value = in.utf8();
      if (kind == Kind::number) label.value = in.var_i64();
      return;
    }
    case Kind::opcode:
      into.opcode = in.u8();
      return;
    case Kind::keywords:
      into.keywords = in.u64();
      return;
    case Kind::level:
      into.level = in.u8();
      return;
    case Kind::version:
      into.version = in.u8();
      return;
  }
  in.reject("a label is of an unknown kind");
}

LabelList read_list(Cursor& in) {
  LabelList list;
  for (bool last = false; !last && !in.failed();) {
    const unsigned kind = in.u8();
    last = (kind & kLastLabel) != 0;
    read_label(in, static_cast<Kind>(kind & ~kLastLabel), list);
  }
  return list;
}

std::size_t held_bytes(const LabelList& list) {
  std::size_t bytes = sizeof(LabelList) + list.others.capacity() * sizeof(Label);
  for (const Label& label : list.others) {
    const auto* text = std::get_if<std::string>(&label.value);
    bytes += label.key.size() + (text == nullptr ? 0 : text->size());
  }
  return bytes;
}

}  // namespace

Result<void> LabelTable::read_block(Cursor block) {
  std::uint32_t id = block.u32();
  for (std::uint32_t left = block.u32(); left > 0 && !block.failed(); --left, ++id) {
    LabelList list = read_list(block);
    held_ += held_bytes(list);
    if (held_ > kMostLabelBytes) block.reject("there are too many labels without a sequence point");
    if (!block.failed() && (id == 0 || !lists_.try_emplace(id, std::move(list)).second)) {
      block.reject("a label list is defined twice");
    }
  }
  return block.outcome();
}

const LabelList* LabelTable::find(std::uint32_t id) const {
  static const LabelList empty;
  if (id == 0) return &empty;
  const auto found = lists_.find(id);
  return found == lists_.end() ? nullptr : &found->second;
}

void LabelTable::clear() {
  lists_.clear();
  held_ = 0;
}

}  // namespace farport::nettrace
