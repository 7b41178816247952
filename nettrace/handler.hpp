// What a reader calls.
#pragma once

#include <cstdint>

#include "nettrace/event.hpp"
#include "nettrace/trace_header.hpp"

namespace farport::nettrace {

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
