// One event, as the reader hands it over.
#pragma once

#include <cstdint>

#include "nettrace/cursor.hpp"
#include "nettrace/definition.hpp"
#include "nettrace/framing.hpp"
#include "nettrace/tables.hpp"

namespace farport::nettrace {

/// Views, all of them: valid for the call that hands it over.
struct Event {
  const Definition& definition;
  const Thread& thread;          ///< That it is about.
  const Thread& capture_thread;  ///< That has written it: mostly the same.
  std::uint32_t processor = 0;   ///< 0xFFFFFFFF where it is not known.
  std::uint32_t sequence_number = 0;
  std::int64_t timestamp = 0;  ///< In ticks: see TraceHeader::time_of().
  bool sorted = false;         ///< No later event has an earlier timestamp. Others come thread by thread.
  const Guid& activity_id;     ///< All zero where there is none.
  const Guid& related_activity_id;  ///< The same.
  const LabelList& labels;          ///< Empty in formats 4 and 5.
  const Stack& stack;
  BytesView payload;                 ///< See decode_payload(), and Cursor for what has no fields.
  std::uint64_t payload_offset = 0;  ///< Where it is in the stream.

  // The definition's, unless a label stands for it.
  [[nodiscard]] std::uint64_t keywords() const { return labels.keywords.value_or(definition.keywords); }
  [[nodiscard]] std::uint8_t level() const { return labels.level.value_or(definition.level); }
  [[nodiscard]] std::uint8_t opcode() const { return labels.opcode.value_or(definition.opcode); }
  [[nodiscard]] std::uint32_t version() const { return labels.version.value_or(definition.version); }
};

/// What a reader calls.
/// Calls come in the stream's order. What they are given is valid for the call only.
class Handler {
 public:
  virtual ~Handler() = default;

  /// The first call.
  virtual void on_trace(const TraceHeader& /*trace*/) {}
  /// Before the first event of its kind.
  virtual void on_definition(const Definition& /*definition*/) {}
  virtual void on_event(const Event& event) = 0;
  /// Events of a thread are missing, which the runtime has dropped: it had no room for them.
  virtual void on_dropped(const Thread& /*thread*/, std::uint32_t /*events*/) {}
  /// All events before `timestamp` (in ticks) have come, and none of the later ones.
  virtual void on_sequence_point(std::int64_t /*timestamp*/) {}
};

}  // namespace farport::nettrace
