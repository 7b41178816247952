// What the blocks say, and what is kept of them for those that follow.
#pragma once

#include <cstdint>
#include <optional>

#include "nettrace/block.hpp"
#include "nettrace/definition_table.hpp"
#include "nettrace/event_rows.hpp"
#include "nettrace/handler.hpp"

namespace farport::nettrace {

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

}  // namespace farport::nettrace
