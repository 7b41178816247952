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
#include "nettrace/event_rows.hpp"
#include "nettrace/framing.hpp"
#include "nettrace/tables.hpp"

namespace farport::nettrace {

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
  [[nodiscard]] bool ended() const { return frames_.ended(); }

  /// To be called after the last byte: fails if the stream is broken or incomplete.
  [[nodiscard]] Result<void> finish() const { return frames_.finish(); }

 private:
  FrameCutter frames_;
  BlockReader blocks_;
};

}  // namespace farport::nettrace
