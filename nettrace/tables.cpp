#include "nettrace/tables.hpp"

#include <algorithm>

#include "nettrace/cursor.hpp"

namespace farport::nettrace {

Result<const Definition*> DefinitionTable::add(Definition definition, std::uint64_t offset) {
  held_ += held_bytes(definition);
  if (held_ > kMaxDefinitionBytes) return fail_at(offset, "there are too many kinds of events");
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

Result<void> StackTable::read_block(Cursor block, std::size_t pointer_size) {
  std::uint32_t id = block.u32();
  std::uint32_t left = block.u32();
  const std::uint64_t begin = block.offset();
  // Copied, since the block's bytes are gone when the next one comes.
  const BytesView content = Cursor(block).take_rest();
  const std::vector<std::byte>& kept = blocks_.emplace_back(content.begin(), content.end());
  held_ += kept.size();
  Cursor in(kept, begin);
  for (; left > 0 && !in.failed(); --left, ++id) {
    const std::uint32_t size = in.u32();
    if (size % pointer_size != 0) in.reject("a stack does not consist of whole addresses");
    if (size / pointer_size > kMaxFrames) in.reject("a stack is longer than any that there is");
    held_ += kEntryBytes;
    if (held_ > kMaxStackBytes) in.reject("there are too many stacks without a sequence point");
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
      if (into.others.size() == kMaxLabels) in.reject("a label list is too long");
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
    if (held_ > kMaxLabelBytes) block.reject("there are too many labels without a sequence point");
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

namespace {

/// OptionalThreadInfo. Whatever follows an unknown kind can't be located and is ignored.
enum class Info : std::uint8_t { name = 1, process_id = 2, thread_id = 3, key_value = 4 };

/// Returns false if the kind is unknown.
bool read_info(Cursor& row, Thread& into) {
  switch (static_cast<Info>(row.u8())) {
    case Info::name:
      into.name = row.utf8();
      return true;
    case Info::process_id:
      into.process_id = row.var_u64();
      return true;
    case Info::thread_id:
      into.id = row.var_u64();
      return true;
    case Info::key_value:
      row.take(row.var_u32());
      row.take(row.var_u32());
      return true;
  }
  return false;
}

constexpr const char* kTooManyThreads = "there are too many threads";

}  // namespace

Result<void> ThreadTable::read_block(Cursor block) {
  while (!block.at_end()) {
    Cursor row = block.part(block.u16());
    const std::uint64_t index = row.var_u64();
    Thread thread;
    while (!row.at_end() && read_info(row, thread)) {
    }
    if (row.failed()) return row.error();
    remove(index);
    name_bytes_ += thread.name.size();
    threads_.insert_or_assign(index, std::move(thread));
    if (threads_.size() > kMaxThreads || name_bytes_ > kMaxThreadNameBytes) block.reject(kTooManyThreads);
  }
  return block.outcome();
}

Result<Thread*> ThreadTable::find(std::uint64_t name, std::uint64_t offset) {
  const auto found = threads_.find(name);
  if (found == threads_.end()) return fail_at(offset, "a thread has not been introduced");
  return &found->second;
}

Result<Thread*> ThreadTable::find_or_add(std::uint64_t id, std::uint64_t process_id, std::uint32_t last_event,
                                         std::uint64_t offset) {
  const auto found = threads_.find(id);
  if (found != threads_.end()) return &found->second;
  if (threads_.size() == kMaxThreads) return fail_at(offset, kTooManyThreads);
  Thread thread{.id = id, .process_id = process_id, .name = {}, .last_event = last_event, .named = point_};
  return &threads_.try_emplace(id, std::move(thread)).first->second;
}

std::uint32_t note_event(Thread& thread, std::uint32_t number, bool came) {
  const std::uint32_t ahead = number - thread.last_event;
  const bool back = ahead > INT32_MAX;
  if (ahead == 0 || (back && !came)) return 0;
  thread.last_event = number;
  if (back) return 0;
  return came ? ahead - 1 : ahead;
}

void ThreadTable::remove(std::uint64_t name) {
  const auto found = threads_.find(name);
  if (found == threads_.end()) return;
  name_bytes_ -= found->second.name.size();
  threads_.erase(found);
}

void ThreadTable::clear() {
  threads_.clear();
  name_bytes_ = 0;
}

void ThreadTable::remove_unmarked() {
  std::erase_if(threads_, [&](const auto& entry) { return entry.second.named != point_; });
}

}  // namespace farport::nettrace
