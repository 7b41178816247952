// Reads a nettrace stream while it comes.
//
// The formats are described in Microsoft's documents NetTraceFormat_v5.md (formats 4 and 5) and
// NetTraceFormat.md (format 6), in the repository of PerfView. Sections that comments name are theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/text.hpp"
#include "nettrace/cursor.hpp"
#include "nettrace/event.hpp"
#include "nettrace/framing.hpp"
#include "nettrace/tables.hpp"

namespace farport::nettrace {

// What the blocks say, and what is kept of them for those that follow.

// The events of a block: their headers, which leave out what is as in the one before, and their payloads.

/// How blocks and what is in them are written: formats 4 and 5 alike, format 6 in other ways.
enum class Format : std::uint8_t { v4, v6 };

struct EventHeader {
  std::uint32_t definition_id = 0;
  std::uint32_t sequence_number = 0;  ///< Of the events of the capturing thread, from 1 on.
  std::uint64_t capture_thread = 0;   ///< A thread's id (formats 4 and 5) or index (format 6).
  std::uint64_t thread = 0;           ///< The same.
  std::uint32_t processor = 0;
  std::uint32_t stack_id = 0;
  std::uint64_t timestamp = 0;
  Guid activity_id;                 ///< Formats 4 and 5.
  Guid related_activity_id;         ///< Formats 4 and 5.
  std::uint32_t label_list_id = 0;  ///< Format 6.
  std::uint32_t payload_size = 0;   ///< In bytes.
  bool sorted = false;              ///< No later event of the stream has an earlier timestamp.
};

/// Reads an EventBlock, or a MetadataBlock of formats 4 and 5 ("The EventBlock Object", "Event blobs").
class EventRows {
 public:
  EventRows(Cursor block, Format format);

  /// Goes to the next one. False at the end, and where the block is broken: see outcome().
  [[nodiscard]] bool next();
  /// Of the event that next() has gone to. Valid until it goes on.
  [[nodiscard]] const EventHeader& header() const { return header_; }
  [[nodiscard]] BytesView payload() const { return payload_; }
  /// Where that payload is in the stream.
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
  EventHeader header_;
  BytesView payload_;
  std::size_t behind_payload_ = 0;  ///< Bytes that only fill the row.
};

class BlockReader {
 public:
  explicit BlockReader(Handler& handler) : handler_(handler) {}

  /// Hands over what is in the block. Fails where it is broken, where it refers to what has not come, and
  /// beyond the limits.
  [[nodiscard]] Result<void> read(const Block& block, std::uint32_t format);

 private:
  [[nodiscard]] Result<void> read_trace(Cursor in, std::uint32_t format);
  [[nodiscard]] Result<void> read_events(Cursor in);
  [[nodiscard]] Result<void> hand_over(const EventRows& rows);
  [[nodiscard]] Result<Thread*> capturing_thread(const EventHeader& header, std::uint64_t offset);
  [[nodiscard]] Result<void> read_metadata_4(Cursor in);
  [[nodiscard]] Result<void> read_metadata_6(Cursor in);
  [[nodiscard]] Result<void> define(Result<Definition> definition, std::uint64_t offset);
  [[nodiscard]] Result<void> read_sequence_point_4(Cursor in);
  [[nodiscard]] Result<void> read_sequence_point_6(Cursor in);
  [[nodiscard]] Result<void> read_removed_threads(Cursor in);
  /// A thread's index and the number of its last event (format 6). Returns the index.
  [[nodiscard]] Result<std::uint64_t> read_last_event(Cursor& in);
  void note_last_event(Thread& thread, std::uint32_t number);
  void pass_sequence_point(std::int64_t timestamp);

  Handler& handler_;
  std::optional<TraceHeader> trace_;
  Format format_ = Format::v4;
  DefinitionTable definitions_;
  StackTable stacks_;
  LabelTable labels_;
  ThreadTable threads_;
};

/// Takes the stream's bytes as they come, and calls its handler for whatever is complete. Holds one block at
/// most that is not, and what later blocks may refer to, within the limits of limits.hpp, whatever the stream
/// says.
class Reader {
 public:
  /// The handler must outlive the reader.
  explicit Reader(Handler& handler) : blocks_(handler) {}

  /// Takes the next bytes: as many as there are. Fails where the stream is broken, and says where; whatever
  /// is complete before that has been handed over. After a failure it fails in the same way for ever.
  [[nodiscard]] Result<void> feed(BytesView bytes);

  /// Whether the stream has come to its proper end. Nothing may follow it.
  [[nodiscard]] bool ended() const { return ended_; }

  /// To be asked when no more bytes come: fails where the stream has failed, and where it breaks off.
  [[nodiscard]] Result<void> finish() const;

 private:
  /// Takes the frame at the beginning of `begin`, and returns its size; 0 where it has not come whole.
  [[nodiscard]] Result<std::size_t> take_frame(BytesView begin);
  [[nodiscard]] Result<void> feed_frames(BytesView bytes);
  void drop_pending();

  Framing framing_;
  BlockReader blocks_;
  std::uint64_t offset_ = 0;        ///< Of the frame that is being waited for.
  std::optional<Frame> frame_;      ///< That one, once it is known.
  std::size_t takes_ = 0;           ///< How many bytes of it there must be to go on.
  std::vector<std::byte> pending_;  ///< What has come of it, in earlier pieces.
  bool ended_ = false;
  std::optional<Error> error_;
};

}  // namespace farport::nettrace
