#include "nettrace/stream_join.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "nettrace/append.hpp"

namespace farport::nettrace {
namespace {

/// The highest number of a kind of events: the bit above it has a meaning of its own in some headers.
constexpr std::uint64_t kMaxDefinition = INT32_MAX;

Cursor content_of(const Frame& frame, BytesView bytes, std::uint64_t offset) {
  return {bytes.subspan(frame.content_begin, frame.content_size), offset + frame.content_begin};
}

Result<void> check_format(const FrameCutter& stream) {
  if (stream.format() == 6)
    return fail_at(stream.offset(), "it has format 6, and only 4 and 5 can be joined");
  return {};
}

}  // namespace

Result<std::vector<std::byte>> StreamJoin::take(BytesView bytes) {
  RETURN_IF_ERROR(stream_.feed(bytes, [this](const Frame& frame, BytesView whole) {
    return is_first_ ? add_first(frame, whole) : add_later(frame, whole);
  }));
  return take_ready();
}

void StreamJoin::next_stream() {
  stream_ = FrameCutter();
  is_first_ = false;
  definitions_before_ = last_definition_;
  threads_before_ = last_thread_;
}

Result<void> StreamJoin::add_kind(const EventKind& kind) {
  if (last_definition_ >= kMaxDefinition)
    return fail_at(offset_, "a kind of events has a number that is too high");
  added_ = {};
  added_.capture_thread = added_.thread = ++last_thread_;
  added_.timestamp = trace_ ? static_cast<std::uint64_t>(trace_->sync_ticks) : 0;
  std::vector<std::byte> definition;
  append(definition, ++last_definition_);
  append_utf16(definition, kind.provider);
  append(definition, kind.event_id);
  append_utf16(definition, {});  // Its name.
  append(definition, kind.keywords);
  append(definition, kind.version);
  append(definition, kind.level);
  append(definition, std::uint32_t{0});  // The number of fields.
  EventRowWriter kinds(added_.timestamp, added_.timestamp);
  kinds.add(added_, definition);
  add_sequence_point(added_.timestamp);
  add_block(BlockKind::metadata, kinds.content());
  added_.definition_id = last_definition_;
  return {};
}

void StreamJoin::add_stacks(const std::vector<std::vector<std::uint64_t>>& stacks) {
  // From here on there are other stacks, and what was added before has its own.
  add_sequence_point(last_time_);
  for (std::size_t first = 0; first < stacks.size();) {
    std::vector<std::byte> addresses;
    std::size_t end = first;
    for (; end < stacks.size() && addresses.size() < kUsualBlockBytes; ++end) {
      const BytesView stack = std::as_bytes(std::span(stacks[end]));
      append(addresses, static_cast<std::uint32_t>(stack.size()));
      append(addresses, stack);
    }
    std::vector<std::byte> content;
    append(content, static_cast<std::uint32_t>(first + 1));
    append(content, static_cast<std::uint32_t>(end - first));
    append(content, addresses);
    add_block(BlockKind::stacks, content);
    first = end;
  }
}

std::vector<std::byte> StreamJoin::add_events(const std::vector<NewEvent>& events) {
  const std::uint64_t begun = trace_ ? static_cast<std::uint64_t>(trace_->sync_ticks) : 0;
  const auto time_of = [begun](const NewEvent& event) { return event.time.value_or(begun); };
  const auto [first, last] = std::ranges::minmax_element(events, {}, time_of);
  EventRowWriter rows(events.empty() ? begun : time_of(*first), events.empty() ? begun : time_of(*last));
  for (const NewEvent& event : events) {
    ++added_.sequence_number;
    added_.timestamp = time_of(event);
    added_.thread = event.thread == 0 ? added_.capture_thread : event.thread;
    added_.stack_id = event.stack;
    rows.add(added_, event.payload);
  }
  add_block(BlockKind::events, rows.content());
  return take_ready();
}

std::vector<std::byte> StreamJoin::end() {
  ready_.push_back(kStreamEnd);
  return take_ready();
}

std::vector<std::byte> StreamJoin::take_ready() {
  offset_ += ready_.size();
  return std::exchange(ready_, {});
}

Result<void> StreamJoin::add_first(const Frame& frame, BytesView bytes) {
  RETURN_IF_ERROR(check_format(stream_));
  Cursor content = content_of(frame, bytes, stream_.offset());
  switch (frame.kind) {
    case BlockKind::trace: {
      ASSIGN_OR_RETURN(trace_, read_trace_object(content, stream_.format()));
      break;
    }
    case BlockKind::metadata:
    case BlockKind::events:
      RETURN_IF_ERROR(note_rows(frame.kind, EventRows(content, Format::v4)));
      add_block(frame.kind, content.take_rest());
      return {};
    case BlockKind::sequence_point:
    case BlockKind::stacks:
      add_block(frame.kind, content.take_rest());
      return {};
    case BlockKind::end:
      return {};
    default:
      break;
  }
  // The preamble, the Trace object and the tag behind it. Tags behind blocks are written with them.
  if (!has_blocks_) append(ready_, bytes);
  return {};
}

Result<void> StreamJoin::note_rows(BlockKind kind, EventRows rows) {
  while (rows.next()) {
    const EventHeader& header = rows.header();
    if (kind == BlockKind::events) {
      first_time_ = std::min(first_time_, header.timestamp);
      last_time_ = std::max(last_time_, header.timestamp);
    }
    last_thread_ = std::max(last_thread_, header.capture_thread);
    // A definition has no number in its row, but begins with it.
    std::uint32_t number = header.definition_id;
    if (number == 0) number = Cursor(rows.payload(), rows.payload_offset()).u32();
    last_definition_ = std::max(last_definition_, number);
  }
  return rows.outcome();
}

Result<void> StreamJoin::add_later(const Frame& frame, BytesView bytes) {
  RETURN_IF_ERROR(check_format(stream_));
  Cursor content = content_of(frame, bytes, stream_.offset());
  switch (frame.kind) {
    case BlockKind::trace: {
      ASSIGN_OR_RETURN(const auto trace, read_trace_object(content, stream_.format()));
      return begin_later(trace);
    }
    case BlockKind::metadata:
    case BlockKind::events:
      return add_renumbered(frame.kind, EventRows(content, Format::v4));
    case BlockKind::sequence_point:
      // Without the threads, whose last events it would count.
      add_sequence_point(content.u64());
      return content.outcome();
    default:
      return {};
  }
}

Result<void> StreamJoin::begin_later(const TraceHeader& trace) {
  const bool same = trace_ && trace.process_id == trace_->process_id &&
                    trace.ticks_per_second == trace_->ticks_per_second &&
                    trace.pointer_size == trace_->pointer_size;
  if (!same) return fail_at(stream_.offset(), "it is not of the process that the first recording is of");
  // Readers sort events by time up to such a point, and this stream goes back in time.
  add_sequence_point(static_cast<std::uint64_t>(trace.sync_ticks));
  return {};
}

Result<void> StreamJoin::add_renumbered(BlockKind kind, EventRows rows) {
  EventRowWriter into(rows.first_time(), rows.last_time());
  while (rows.next()) {
    EventHeader header = rows.header();
    header.stack_id = 0;
    header.capture_thread += threads_before_;
    last_thread_ = std::max(last_thread_, header.capture_thread);
    if (kind == BlockKind::events) {
      ASSIGN_OR_RETURN(header.definition_id, renumbered(header.definition_id, rows));
      into.add(header, rows.payload());
      continue;
    }
    Cursor in(rows.payload(), rows.payload_offset());
    ASSIGN_OR_RETURN(const auto number, renumbered(in.u32(), rows));
    std::vector<std::byte> definition;
    append(definition, number);
    append(definition, in.take_rest());
    RETURN_IF_ERROR(in.outcome());
    into.add(header, definition);
  }
  RETURN_IF_ERROR(rows.outcome());
  if (into.content().size() > kMaxBlockBytes) return fail_at(stream_.offset(), "a block is too large");
  add_block(kind, into.content());
  return {};
}

Result<std::uint32_t> StreamJoin::renumbered(std::uint32_t definition, const EventRows& rows) {
  const std::uint64_t number = std::uint64_t{definition} + definitions_before_;
  if (number > kMaxDefinition)
    return fail_at(rows.payload_offset(), "a kind of events has a number that is too high");
  last_definition_ = std::max(last_definition_, static_cast<std::uint32_t>(number));
  return static_cast<std::uint32_t>(number);
}

void StreamJoin::add_block(BlockKind kind, BytesView content) {
  has_blocks_ = true;
  append_block(ready_, kind, content, offset_);
}

void StreamJoin::add_sequence_point(std::uint64_t time) {
  std::vector<std::byte> content;
  append(content, time);
  append(content, std::uint32_t{0});
  add_block(BlockKind::sequence_point, content);
}

}  // namespace farport::nettrace
