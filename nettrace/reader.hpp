// Reader: reads a nettrace stream as it comes.
//
// Microsoft's documents NetTraceFormat_v5.md (formats 4 and 5) and NetTraceFormat.md (format 6), in
// PerfView's repository, describe the formats. Comments name their sections.
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
  EventHeader header_;
  BytesView payload_;
  std::size_t behind_payload_ = 0;  ///< Padding of the row.
};

/// Interprets blocks, and keeps what later blocks refer to.
class BlockReader {
 public:
  explicit BlockReader(Handler& handler) : handler_(handler) {}

  /// Delivers the block's contents to the handler. Fails if the block is broken, refers to unknown ids, or
  /// exceeds a limit.
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
  /// Reads a thread's index and the number of its last event (format 6). Returns the index.
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

/// Takes the stream's bytes as they come, and calls its handler for each complete item. Holds at most one
/// incomplete block, and what later blocks may refer to, within the limits in cursor.hpp.
class Reader {
 public:
  /// The handler must outlive the reader.
  explicit Reader(Handler& handler) : blocks_(handler) {}

  /// Takes the next bytes, any number of them. Fails with the position if the stream is broken; everything
  /// complete before that was delivered. Then it always fails in the same way.
  [[nodiscard]] Result<void> feed(BytesView bytes);

  /// Whether the stream has ended properly. Nothing may follow.
  [[nodiscard]] bool ended() const { return ended_; }

  /// To be called after the last byte: fails if the stream is broken or incomplete.
  [[nodiscard]] Result<void> finish() const;

 private:
  /// Takes the frame at the start of `begin` and returns its size; 0 if it is incomplete.
  [[nodiscard]] Result<std::size_t> take_frame(BytesView begin);
  [[nodiscard]] Result<void> feed_frames(BytesView bytes);
  void drop_pending();

  Framing framing_;
  BlockReader blocks_;
  std::uint64_t offset_ = 0;        ///< Position of the awaited frame.
  std::optional<Frame> frame_;      ///< That frame, once it is known.
  std::size_t takes_ = 0;           ///< Bytes of it that are needed to go on.
  std::vector<std::byte> pending_;  ///< Its bytes so far, from earlier pieces.
  bool ended_ = false;
  std::optional<Error> error_;
};

}  // namespace farport::nettrace
