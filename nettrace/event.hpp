// Event, Handler: an event as the reader delivers it, and who receives it.
#pragma once

#include <cstdint>

#include "nettrace/cursor.hpp"
#include "nettrace/definition.hpp"
#include "nettrace/framing.hpp"
#include "nettrace/tables.hpp"

namespace farport::nettrace {

/// All members are views that are valid during the call only.
struct Event {
  const Definition& definition;
  const Thread& thread;          ///< The thread that the event is about.
  const Thread& capture_thread;  ///< The thread that wrote it: usually the same.
  std::uint32_t processor = 0;   ///< 0xFFFFFFFF if unknown.
  std::uint32_t sequence_number = 0;
  std::int64_t timestamp = 0;  ///< In ticks; see TraceHeader::time_of().
  bool sorted = false;      ///< No later event has an earlier timestamp. Others are in order per thread only.
  const Guid& activity_id;  ///< All zero if there is none.
  const Guid& related_activity_id;  ///< All zero if there is none.
  const LabelList& labels;          ///< Empty in formats 4 and 5.
  const Stack& stack;
  BytesView payload;                 ///< See decode_payload(); use Cursor if the fields aren't defined.
  std::uint64_t payload_offset = 0;  ///< Its position in the stream.

  // From the definition, unless a label overrides it.
  [[nodiscard]] std::uint64_t keywords() const { return labels.keywords.value_or(definition.keywords); }
  [[nodiscard]] std::uint8_t level() const { return labels.level.value_or(definition.level); }
  [[nodiscard]] std::uint8_t opcode() const { return labels.opcode.value_or(definition.opcode); }
  [[nodiscard]] std::uint32_t version() const { return labels.version.value_or(definition.version); }
};

/// Receives what a reader reads, in the stream's order. Arguments are valid during the call only.
class Handler {
 public:
  virtual ~Handler() = default;

  /// Called first.
  virtual void on_trace(const TraceHeader& /*trace*/) {}
  /// Called before the first event of this kind.
  virtual void on_definition(const Definition& /*definition*/) {}
  virtual void on_event(const Event& event) = 0;
  /// The runtime has dropped events of a thread for lack of buffer space.
  virtual void on_dropped(const Thread& /*thread*/, std::uint32_t /*events*/) {}
  /// All events before `timestamp` (in ticks) have come, and no later ones.
  virtual void on_sequence_point(std::int64_t /*timestamp*/) {}
};

}  // namespace farport::nettrace
