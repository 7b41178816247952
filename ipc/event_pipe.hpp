// Payloads of the EventPipe command set: starting and stopping a trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ipc/commands.hpp"
#include "ipc/wire.hpp"

namespace farport::ipc {

/// Selects a provider's events by id. The default selects all.
struct EventFilter {
  bool enable = false;  ///< True: only these ids. False: all but these.
  std::vector<std::uint32_t> event_ids;
};

/// The events for one tracepoint.
struct TracepointSet {
  std::string name;
  std::vector<std::uint32_t> event_ids;
};

/// The tracepoints of a user_events session.
struct TracepointConfig {
  std::optional<std::string> default_name;
  std::vector<TracepointSet> sets;
};

/// A source of events.
struct Provider {
  std::uint64_t keywords = 0;
  std::uint32_t level = 0;
  std::string name;
  std::optional<std::string> filter;
  EventFilter event_filter;      ///< From CollectTracing5 on.
  TracepointConfig tracepoints;  ///< From CollectTracing5 on, in user_events sessions.
};

enum class SessionType : std::uint32_t {
  streaming = 0,
  user_events = 1,  ///< The client then sends a file descriptor on the same connection.
};

enum class BufferMode : std::uint32_t {
  drop = 0,
  block = 1,  ///< The application waits for a slow reader.
};

/// CollectTracing and its five successors, which start a session. Fields that a version lacks have the values
/// that the runtime then uses.
struct CollectTracing {
  Command version = kCollectTracing2;  ///< Which of the six: kCollectTracing … kCollectTracing6.
  SessionType session_type = SessionType::streaming;  ///< From 5 on.
  std::uint32_t buffer_size_mb = 0;                   ///< Not in user_events sessions.
  std::uint32_t format = 1;                           ///< 0 NetPerf, 1 nettrace. Not in user_events sessions.
  bool rundown = true;                                ///< In 2 and 3. From 4 on: for older().
  std::uint64_t rundown_keyword = 0;                  ///< From 4 on.
  bool stackwalk = true;                              ///< From 3 on. Not in user_events sessions.
  std::vector<Provider> providers;
  BufferMode buffer_mode = BufferMode::drop;  ///< In 6, in streaming sessions.

  /// Reads the payload of `command`, one of the six (any other fails). Fails for an unknown session type or
  /// buffer mode.
  [[nodiscard]] static Result<CollectTracing> decode(Command command, BytesView payload);
  /// The payload in the layout of `version`.
  [[nodiscard]] Bytes encode() const;
  /// The request for a runtime that does not know `version`, with a rundown of all methods or none. Empty if
  /// every runtime knows the version, or none has an equivalent.
  [[nodiscard]] std::optional<CollectTracing> older() const;
};

/// Whether `command` starts a session.
[[nodiscard]] bool is_collect_tracing(Command command);

/// Changes the size of the runtime's buffer, in MB, in the payload of a command that starts a streamed
/// session, and leaves all else as it is.
void change_buffer_size(Command command, std::span<std::byte> payload, std::uint32_t megabytes);

/// A session's id: StopTracing's payload, and the OK answer to it and to every CollectTracing.
struct SessionId {
  std::uint64_t value = 0;

  [[nodiscard]] static Result<SessionId> decode(BytesView payload);
  [[nodiscard]] Bytes encode() const;
};

}  // namespace farport::ipc
