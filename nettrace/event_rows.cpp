#include "nettrace/event_rows.hpp"

#include <span>

#include "nettrace/append.hpp"

namespace farport::nettrace {
namespace {

/// Size and flags of 16 bits each, and two timestamps.
constexpr std::uint16_t kMinHeaderBytes = 20;
constexpr unsigned kHeaderCompression = 1;
constexpr std::uint32_t kNotSorted = 0x8000'0000;

/// Flags in the first byte of a compressed header, which tell what follows.
namespace flags {
constexpr unsigned kDefinition = 1;
constexpr unsigned kCapture = 2;
constexpr unsigned kThread = 4;
constexpr unsigned kStack = 8;
constexpr unsigned kActivityOrLabels = 16;
constexpr unsigned kRelatedActivity = 32;
constexpr unsigned kSorted = 64;
constexpr unsigned kPayloadSize = 128;
}  // namespace flags

}  // namespace

EventRows::EventRows(Cursor block, Format format) : block_(block), format_(format) {
  const std::uint16_t header_size = block_.u16();
  compressed_ = (block_.u16() & kHeaderCompression) != 0;
  if (header_size < kMinHeaderBytes) {
    block_.reject("the header of a block of events is too small");
    return;
  }
  first_time_ = block_.u64();
  last_time_ = block_.u64();
  block_.take(header_size - kMinHeaderBytes);
}

bool EventRows::next() {
  if (block_.at_end()) return false;
  if (compressed_) {
    read_compressed();
  } else {
    read_whole();
  }
  return !block_.failed();
}

void EventRows::read_compressed() {
  const unsigned present = block_.u8();
  if ((present & flags::kDefinition) != 0) header_.definition_id = block_.var_u32();
  const bool counts = format_ == Format::v6 || header_.definition_id != 0;
  if ((present & flags::kCapture) != 0) {
    header_.sequence_number += block_.var_u32();
    header_.capture_thread = block_.var_u64();
    header_.processor = block_.var_u32();
  }
  if (counts) ++header_.sequence_number;
  if ((present & flags::kThread) != 0) header_.thread = block_.var_u64();
  if ((present & flags::kStack) != 0) header_.stack_id = block_.var_u32();
  header_.timestamp += block_.var_u64();
  if ((present & flags::kActivityOrLabels) != 0) {
    if (format_ == Format::v6) {
      header_.label_list_id = block_.var_u32();
    } else {
      header_.activity_id = block_.guid();
    }
  }
  if ((present & flags::kRelatedActivity) != 0 && format_ == Format::v4) {
    header_.related_activity_id = block_.guid();
  }
  header_.sorted = (present & flags::kSorted) != 0;
  if ((present & flags::kPayloadSize) != 0) header_.payload_size = block_.var_u32();
  payload_ = block_.take(header_.payload_size);
}

void EventRows::read_whole() {
  Cursor row = block_.part(block_.u32());
  const std::uint32_t definition = row.u32();
  header_.definition_id = definition & ~kNotSorted;
  header_.sorted = (definition & kNotSorted) == 0;
  header_.sequence_number = row.u32();
  header_.thread = row.u64();
  header_.capture_thread = row.u64();
  header_.processor = row.u32();
  header_.stack_id = row.u32();
  header_.timestamp = row.u64();
  if (format_ == Format::v6) {
    header_.label_list_id = row.u32();
  } else {
    header_.activity_id = row.guid();
    header_.related_activity_id = row.guid();
  }
  header_.payload_size = row.u32();
  payload_ = row.take(header_.payload_size);
  behind_payload_ = row.remaining();
  if (row.failed()) block_.reject("an event does not fit its size");
}

EventRowWriter::EventRowWriter(std::uint64_t first, std::uint64_t last) {
  append(content_, kMinHeaderBytes);
  append(content_, std::uint16_t{kHeaderCompression});
  append(content_, first);
  append(content_, last);
}

void EventRowWriter::add(const EventHeader& header, BytesView payload) {
  unsigned present =
      flags::kDefinition | flags::kCapture | flags::kThread | flags::kStack | flags::kPayloadSize;
  // Rows without these would keep those of the row before.
  if (header.activity_id != last_.activity_id) present |= flags::kActivityOrLabels;
  if (header.related_activity_id != last_.related_activity_id) present |= flags::kRelatedActivity;
  if (header.sorted) present |= flags::kSorted;
  append(content_, static_cast<std::uint8_t>(present));
  variable(header.definition_id);
  // The reader adds one for an event.
  const std::uint32_t implied = header.definition_id != 0 ? 1 : 0;
  variable(header.sequence_number - last_.sequence_number - implied);
  variable(header.capture_thread);
  variable(header.processor);
  variable(header.thread);
  variable(header.stack_id);
  variable(header.timestamp - last_.timestamp);
  if ((present & flags::kActivityOrLabels) != 0) guid(header.activity_id);
  if ((present & flags::kRelatedActivity) != 0) guid(header.related_activity_id);
  variable(payload.size());
  append(content_, payload);
  last_ = header;
}

void EventRowWriter::variable(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) content_.push_back(static_cast<std::byte>((value & 0x7F) | 0x80));
  content_.push_back(static_cast<std::byte>(value));
}

void EventRowWriter::guid(const Guid& value) {
  append(content_, std::as_bytes(std::span(value.bytes)));
}

}  // namespace farport::nettrace
