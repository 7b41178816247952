// Sessions of the runtimes (EventPipe) that were started through the agent, and their end: a runtime itself
// does not notice that nobody reads any more as long as its providers are silent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "ipc/event_pipe.hpp"
#include "router/agent/runtimes/meter_claims.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "transport/fd_stream.hpp"
#include "transport/node_list.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

/// The id in the runtime's answer to a CollectTracing, which is left in the stream; nothing if the answer is
/// none, or an error. Passes when it has come.
transport::Task<std::optional<ipc::SessionId>> answered_session(transport::FdStream& runtime);

class TracingSession;

class TracingSessions {
 public:
  TracingSessions(transport::Loop& loop, Log log, Registry& registry, MeterClaims& meters)
      : log_(std::move(log)), registry_(registry), meters_(meters), stopping_(loop) {}
  TracingSessions(const TracingSessions&) = delete;
  TracingSessions& operator=(const TracingSessions&) = delete;

  /// Has all of them stopped by their runtimes, which then send the rest and end the stream.
  void stop_all();
  [[nodiscard]] bool running() const { return !running_.empty(); }
  [[nodiscard]] std::uint64_t abandoned() const { return abandoned_; }

 private:
  friend class TracingSession;
  Log log_;
  Registry& registry_;
  MeterClaims& meters_;
  transport::NodeList running_;
  std::uint64_t abandoned_ = 0;  ///< Stopped because nobody read them any more.
  transport::TaskSet stopping_;
};

/// One of them, from its runtime's answer to the end of its stream.
class TracingSession final : private transport::ListNode {
 public:
  TracingSession(TracingSessions& sessions, RuntimePtr runtime, ipc::SessionId id);
  ~TracingSession() = default;

  /// Stops a session that nobody reads any more, and reads the rest from `stream` meanwhile: the runtime
  /// would wait for a reader.
  transport::Task<void> abandon(transport::FdStream& stream);

 private:
  friend class TracingSessions;
  static transport::Task<void> stop(TracingSessions& sessions, RuntimePtr runtime, ipc::SessionId id);

  TracingSessions& sessions_;
  RuntimePtr runtime_;
  ipc::SessionId id_;
  bool told_ = false;  ///< The runtime has been told to stop it.
};

}  // namespace farport::router
