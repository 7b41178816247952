#include "nettrace/thread_table.hpp"

#include "nettrace/limits.hpp"

namespace farport::nettrace {
namespace {

/// OptionalThreadInfo. What is behind a kind that is not known can't be found, and is left out.
enum class Info : std::uint8_t { name = 1, process_id = 2, thread_id = 3, key_value = 4 };

/// False where the kind is not known.
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
    if (threads_.size() > kMostThreads || name_bytes_ > kMostThreadNameBytes) block.reject(kTooManyThreads);
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
  if (threads_.size() == kMostThreads) return fail_at(offset, kTooManyThreads);
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

void ThreadTable::forget_unnamed() {
  std::erase_if(threads_, [&](const auto& entry) { return entry.second.named != point_; });
}

}  // namespace farport::nettrace
