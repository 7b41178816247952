#include "nettrace/reader.hpp"

#include <algorithm>

#include "nettrace/definition.hpp"

namespace farport::nettrace {
namespace {

/// Flags of a sequence point (format 6).
constexpr std::uint32_t kForgetThreads = 1;
constexpr std::uint32_t kForgetDefinitions = 2;

Result<void> as_outcome(const Result<Thread*>& thread) {
  return tl::unexpected(thread.error());
}

}  // namespace

Result<void> BlockReader::read(const Block& block, std::uint32_t format) {
  const Cursor& in = block.content;
  if (block.kind == BlockKind::unknown) return {};
  if (block.kind == BlockKind::trace) return read_trace(in, format);
  if (!trace_) return fail_at(in.offset(), "something comes before it says what it is of");
  const bool v6 = format_ == Format::v6;
  switch (block.kind) {
    case BlockKind::events:
      return read_events(in);
    case BlockKind::metadata:
      return v6 ? read_metadata_6(in) : read_metadata_4(in);
    case BlockKind::sequence_point:
      return v6 ? read_sequence_point_6(in) : read_sequence_point_4(in);
    case BlockKind::stacks:
      return stacks_.read_block(in, trace_->pointer_size);
    case BlockKind::threads:
      return threads_.read_block(in);
    case BlockKind::removed_threads:
      return read_removed_threads(in);
    case BlockKind::labels:
      return labels_.read_block(in);
    case BlockKind::trace:
    case BlockKind::end:
    case BlockKind::unknown:
      break;
  }
  return {};
}

Result<void> BlockReader::read_trace(Cursor in, std::uint32_t format) {
  if (trace_) return fail_at(in.offset(), "it says twice what it is of");
  ASSIGN_OR_RETURN(auto header, format == 6 ? read_trace_block(in) : read_trace_object(in, format));
  format_ = format == 6 ? Format::v6 : Format::v4;
  trace_ = std::move(header);
  handler_.on_trace(*trace_);
  return {};
}

Result<void> BlockReader::read_events(Cursor in) {
  EventRows rows(in, format_);
  while (rows.next()) {
    RETURN_IF_ERROR(hand_over(rows));
  }
  return rows.outcome();
}

Result<void> BlockReader::hand_over(const EventRows& rows) {
  const EventHeader& header = rows.header();
  const std::uint64_t offset = rows.payload_offset();
  const Definition* const definition = definitions_.find(header.definition_id);
  if (definition == nullptr) return fail_at(offset, "an event is of a kind that has not been defined");
  const Stack* const stack = stacks_.find(header.stack_id);
  if (stack == nullptr) return fail_at(offset, "an event has a stack that has not come");
  const LabelList* const labels = labels_.find(header.label_list_id);
  if (labels == nullptr) return fail_at(offset, "an event has labels that have not come");
  const auto capture = capturing_thread(header, offset);
  if (!capture) return as_outcome(capture);

  // Formats 4 and 5 only know threads that write events; any other thread gets a temporary entry.
  Thread other;
  other.id = header.thread;
  other.process_id = trace_->process_id;
  Thread* thread = header.thread == header.capture_thread ? *capture : &other;
  if (format_ == Format::v6 && thread == &other) {
    const auto found = threads_.find(header.thread, offset);
    if (!found) return as_outcome(found);
    thread = *found;
  }
  const std::uint32_t dropped = note_event(**capture, header.sequence_number, true);
  if (dropped > 0) handler_.on_dropped(**capture, dropped);
  const bool v6 = format_ == Format::v6;
  handler_.on_event({.definition = *definition,
                     .thread = *thread,
                     .capture_thread = **capture,
                     .processor = header.processor,
                     .sequence_number = header.sequence_number,
                     .timestamp = static_cast<std::int64_t>(header.timestamp),
                     .sorted = header.sorted,
                     .activity_id = v6 ? labels->activity_id : header.activity_id,
                     .related_activity_id = v6 ? labels->related_activity_id : header.related_activity_id,
                     .labels = *labels,
                     .stack = *stack,
                     .payload = rows.payload(),
                     .payload_offset = offset});
  return {};
}

Result<Thread*> BlockReader::capturing_thread(const EventHeader& header, std::uint64_t offset) {
  if (format_ == Format::v6) return threads_.find(header.capture_thread, offset);
  return threads_.find_or_add(header.capture_thread, trace_->process_id, header.sequence_number - 1, offset);
}

Result<void> BlockReader::read_metadata_4(Cursor in) {
  EventRows rows(in, format_);
  while (rows.next()) {
    const std::uint64_t offset = rows.payload_offset();
    RETURN_IF_ERROR(define(read_definition_4(Cursor(rows.payload(), offset)), offset));
  }
  return rows.outcome();
}

Result<void> BlockReader::read_metadata_6(Cursor in) {
  in.take(in.u16());
  while (!in.at_end()) {
    const std::uint64_t offset = in.offset();
    const Cursor row = in.part(in.u16());
    RETURN_IF_ERROR(define(read_definition_6(row), offset));
  }
  return in.outcome();
}

Result<void> BlockReader::define(Result<Definition> definition, std::uint64_t offset) {
  if (!definition) return tl::unexpected(definition.error());
  ASSIGN_OR_RETURN(const auto added, definitions_.add(std::move(*definition), offset));
  handler_.on_definition(*added);
  return {};
}

Result<void> BlockReader::read_sequence_point_4(Cursor in) {
  const std::int64_t timestamp = in.i64();
  threads_.begin_sequence_point();
  for (std::uint32_t left = in.u32(); left > 0 && !in.failed(); --left) {
    const std::uint64_t id = in.u64();
    const std::uint32_t number = in.u32();
    if (in.failed()) break;
    const auto thread = threads_.find_or_add(id, trace_->process_id, number, in.offset());
    if (!thread) return as_outcome(thread);
    threads_.mark_at_sequence_point(**thread);
    note_last_event(**thread, number);
  }
  if (in.failed()) return in.error();
  threads_.remove_unmarked();
  pass_sequence_point(timestamp);
  return {};
}

Result<void> BlockReader::read_sequence_point_6(Cursor in) {
  const std::int64_t timestamp = in.i64();
  const std::uint32_t flags = in.u32();
  for (std::uint32_t left = in.u32(); left > 0 && !in.failed(); --left) {
    RETURN_IF_ERROR(read_last_event(in));
  }
  if (in.failed()) return in.error();
  if ((flags & kForgetThreads) != 0) threads_.clear();
  if ((flags & kForgetDefinitions) != 0) definitions_.clear();
  pass_sequence_point(timestamp);
  return {};
}

Result<void> BlockReader::read_removed_threads(Cursor in) {
  while (!in.at_end()) {
    ASSIGN_OR_RETURN(const auto index, read_last_event(in));
    threads_.remove(index);
  }
  return {};
}

Result<std::uint64_t> BlockReader::read_last_event(Cursor& in) {
  const std::uint64_t index = in.var_u64();
  const std::uint32_t number = in.var_u32();
  if (in.failed()) return in.error();
  ASSIGN_OR_RETURN(const auto thread, threads_.find(index, in.offset()));
  note_last_event(*thread, number);
  return index;
}

void BlockReader::note_last_event(Thread& thread, std::uint32_t number) {
  const std::uint32_t dropped = note_event(thread, number, false);
  if (dropped > 0) handler_.on_dropped(thread, dropped);
}

void BlockReader::pass_sequence_point(std::int64_t timestamp) {
  stacks_.clear();
  labels_.clear();
  handler_.on_sequence_point(timestamp);
}

Result<void> Reader::feed(BytesView bytes) {
  return frames_.feed(bytes, [this](const Frame& frame, BytesView whole) {
    const std::uint64_t offset = frames_.offset() + frame.content_begin;
    const Cursor content(whole.subspan(frame.content_begin, frame.content_size), offset);
    return blocks_.read({.kind = frame.kind, .content = content}, frames_.format());
  });
}

}  // namespace farport::nettrace
