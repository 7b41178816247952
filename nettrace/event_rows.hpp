// EventRows: the events of a block, and writing such a block.
//
// Microsoft's document NetTraceFormat_v5.md, in PerfView's repository, describes them ("The EventBlock
// Object", "Event blobs"); NetTraceFormat.md those of format 6.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/text.hpp"
#include "nettrace/cursor.hpp"

namespace farport::nettrace {

/// The encoding of blocks: formats 4 and 5 share one, format 6 has another.
enum class Format : std::uint8_t { v4, v6 };

struct EventHeader {
  std::uint32_t definition_id = 0;
  std::uint32_t sequence_number = 0;  ///< Among the capturing thread's events, from 1 on.
  std::uint64_t capture_thread = 0;   ///< A thread's id (formats 4 and 5) or index (format 6).
  std::uint64_t thread = 0;           ///< Likewise.
  std::uint32_t processor = 0;
  std::uint32_t stack_id = 0;
  std::uint64_t timestamp = 0;
  Guid activity_id;                 ///< Formats 4 and 5.
  Guid related_activity_id;         ///< Formats 4 and 5.
  std::uint32_t label_list_id = 0;  ///< Format 6.
  std::uint32_t payload_size = 0;   ///< In bytes.
  bool sorted = false;              ///< No later event in the stream has an earlier timestamp.
};

/// Reads the events of an EventBlock, or of a MetadataBlock in formats 4 and 5 ("The EventBlock Object",
/// "Event blobs"). Headers are compressed: they omit what equals the previous event's.
class EventRows {
 public:
  EventRows(Cursor block, Format format);

  /// The times between which the block says that its events are.
  [[nodiscard]] std::uint64_t first_time() const { return first_time_; }
  [[nodiscard]] std::uint64_t last_time() const { return last_time_; }

  /// Moves to the next event. Returns false at the end or if the block is broken; see outcome().
  [[nodiscard]] bool next();
  /// The header of the current event. Valid until next().
  [[nodiscard]] const EventHeader& header() const { return header_; }
  [[nodiscard]] BytesView payload() const { return payload_; }
  /// The payload's position in the stream.
  [[nodiscard]] std::uint64_t payload_offset() const {
    return block_.offset() - behind_payload_ - payload_.size();
  }
  [[nodiscard]] Result<void> outcome() const { return block_.outcome(); }

 private:
  void read_compressed();
  void read_whole();

  Cursor block_;
  Format format_;
  bool compressed_ = false;
  std::uint64_t first_time_ = 0;
  std::uint64_t last_time_ = 0;
  EventHeader header_;
  BytesView payload_;
  std::size_t behind_payload_ = 0;  ///< Padding of the row.
};

/// Writes the content of an EventBlock or MetadataBlock of formats 4 and 5.
class EventRowWriter {
 public:
  /// `first` and `last`: the times between which its events are.
  EventRowWriter(std::uint64_t first, std::uint64_t last);

  /// Appends an event. `header.payload_size` doesn't matter.
  void add(const EventHeader& header, BytesView payload);

  [[nodiscard]] const std::vector<std::byte>& content() const { return content_; }

 private:
  void variable(std::uint64_t value);
  void guid(const Guid& value);

  std::vector<std::byte> content_;
  EventHeader last_;  ///< What the reader of the block knows from the previous row.
};

}  // namespace farport::nettrace
