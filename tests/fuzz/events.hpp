// Events for what makes something of a runtime's events, without a stream around them.
#pragma once

#include "nettrace/event.hpp"

namespace farport::fuzz {

/// What of an event the targets vary.
struct MadeEvent {
  const nettrace::Definition& definition;
  std::int64_t time = 0;
  nettrace::BytesView payload;
  nettrace::Thread thread{};
  nettrace::Stack stack{};
};

/// Hands it to a handler.
inline void hand_on(const MadeEvent& made, nettrace::Handler& to) {
  const Guid none;
  const nettrace::LabelList labels;
  to.on_event({.definition = made.definition,
               .thread = made.thread,
               .capture_thread = made.thread,
               .timestamp = made.time,
               .activity_id = none,
               .related_activity_id = none,
               .labels = labels,
               .stack = made.stack,
               .payload = made.payload});
}

}  // namespace farport::fuzz
