// A diagnostic connection at the agent: its first message is admitted, the runtime's port opened, both
// relayed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "ipc/event_pipe.hpp"
#include "router/agent/gate/admission.hpp"
#include "router/agent/runtimes/halt_watch.hpp"
#include "router/agent/runtimes/memory_group.hpp"
#include "router/agent/runtimes/meter_claims.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "router/agent/runtimes/suspended_runtimes.hpp"
#include "router/stream/compressing_stream.hpp"
#include "transport/buffer_pool.hpp"
#include "transport/event.hpp"
#include "transport/fd_stream.hpp"
#include "transport/loop.hpp"
#include "transport/party.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

/// Waits for the runtime's answer to a CollectTracing, and leaves it in the stream. Returns the session's id,
/// or nothing if the answer is an error or the stream ends.
transport::Task<std::optional<ipc::SessionId>> answered_session(transport::FdStream& runtime);

class TracingSession;

/// The StopTracing of one session. The agent adds none to one that is under way or was sent: a runtime
/// identifies its sessions by their addresses, so a second one might stop a newer session at the same
/// address. What callers send is passed on, each time.
struct SessionStop {
  explicit SessionStop(transport::Loop& loop) : changed(loop) {}
  bool begun = false;
  bool done = false;
  transport::Condition changed;
};

/// The runtimes' EventPipe sessions that were started through the agent. The agent stops those that nobody
/// reads: a runtime does not notice a closed connection as long as its providers write nothing.
class TracingSessions {
 public:
  TracingSessions(transport::Loop& loop, Log log, Registry& registry, MeterClaims& meters)
      : loop_(loop), log_(std::move(log)), registry_(registry), meters_(meters), stopping_(loop) {}
  TracingSessions(const TracingSessions&) = delete;
  TracingSessions& operator=(const TracingSessions&) = delete;

  /// Asks the runtimes to stop all sessions. Each runtime then sends the rest and ends the stream.
  void stop_all();

  /// Marks a StopTracing as under way, so that the agent sends no other one meanwhile.
  class Stopping {
   public:
    explicit Stopping(std::shared_ptr<SessionStop> stop);
    Stopping(const Stopping&) = delete;
    Stopping& operator=(const Stopping&) = delete;
    ~Stopping();
    /// Call this once the runtime has been told.
    void sent() { sent_ = true; }

   private:
    std::shared_ptr<SessionStop> stop_;  ///< Null if the session is unknown, or somebody else is stopping it.
    bool sent_ = false;
  };
  /// The stop of this session of this runtime, or nullptr if there is no such session.
  [[nodiscard]] std::shared_ptr<SessionStop> stop_of(const std::string& runtime_id, ipc::SessionId id);

  [[nodiscard]] bool running() const { return !running_.empty(); }
  [[nodiscard]] std::uint64_t abandoned() const { return abandoned_; }

 private:
  friend class TracingSession;
  transport::Loop& loop_;
  Log log_;
  Registry& registry_;
  MeterClaims& meters_;
  transport::NodeList running_;
  std::uint64_t abandoned_ = 0;  ///< Sessions stopped because nobody read them any more.
  transport::TaskSet stopping_;
};

/// One session, from the runtime's answer to the end of its stream.
class TracingSession final : private transport::ListNode {
 public:
  TracingSession(TracingSessions& sessions, RuntimePtr runtime, ipc::SessionId id);
  ~TracingSession() = default;

  /// Stops a session that nobody reads any more. Discards the rest of `stream` meanwhile, since the runtime
  /// would wait for a reader.
  transport::Task<void> abandon(transport::FdStream& stream);
  /// Stops a session of the agent's own, in the same way.
  transport::Task<void> end(transport::FdStream& stream);

 private:
  friend class TracingSessions;
  static transport::Task<void> stop(TracingSessions& sessions, RuntimePtr runtime, ipc::SessionId id,
                                    std::shared_ptr<SessionStop> stop);
  static transport::Task<void> tell(TracingSessions& sessions, RuntimePtr runtime, ipc::SessionId id);

  TracingSessions& sessions_;
  RuntimePtr runtime_;
  ipc::SessionId id_;
  std::shared_ptr<SessionStop> stop_;
};

/// Carries all diagnostic connections of an agent.
class DiagnosticConnections {
 public:
  DiagnosticConnections(transport::Loop& loop, Log log, Admission& admission, Audit& audit, Metrics& metrics,
                        Registry& registry, SuspendedRuntimes& suspended, HaltWatch& halts,
                        MemoryGroups& groups, TracingSessions& tracing, MeterClaims& meters,
                        transport::BufferBudget& budget, Compression compression,
                        std::size_t most_compressors)
      : loop_(loop),
        log_(std::move(log)),
        admission_(admission),
        audit_(audit),
        metrics_(metrics),
        registry_(registry),
        suspended_(suspended),
        halts_(halts),
        groups_(groups),
        tracing_(tracing),
        meters_(meters),
        budget_(budget),
        compression_(compression),
        compressors_(most_compressors) {}
  DiagnosticConnections(const DiagnosticConnections&) = delete;
  DiagnosticConnections& operator=(const DiagnosticConnections&) = delete;

  /// Carries one connection to its end. `runtime` is the one that the tool asked for, or why there is none.
  /// The caller must outlive the task.
  transport::Task<void> carry(const Caller& caller, tl::expected<RuntimePtr, Refusal> runtime,
                              ToolEndpoint& tool);
  /// Frees the buffers that no connection uses now.
  void free_buffers() { buffers_.free_unused(); }

 private:
  transport::Task<bool> may_stop(const Runtime& runtime, ToolEndpoint& tool,
                                 std::optional<ipc::SessionId> session);
  /// Has the runtime name its types again for a session that asks for them. While another session keeps its
  /// provider on, the runtime does not notice that nobody asks for names any more, and so names each type
  /// only once for all sessions (dotnet/diagnostics#5116). A session that asks for none makes it notice.
  transport::Task<void> renew_type_names(const RuntimePtr& runtime, const ipc::CollectTracing& session);
  /// Makes the buffer that a session asks for smaller if the runtime has no memory for it: what it writes
  /// while nobody reads, such as its heap, fills the buffer, and for lack of memory the kernel would kill it.
  /// Returns the claim to a buffer that will be filled, which is held as long as the session lasts. Refused
  /// if that has no room.
  transport::Task<tl::expected<std::unique_ptr<MemoryClaim>, Refusal>> fit_buffer(
      const Runtime& runtime, const ipc::CollectTracing& session, FirstMessage& first);
  transport::Task<std::unique_ptr<transport::FdStream>> open(AuditEntry& entry, ToolEndpoint& tool,
                                                             std::vector<std::byte> message);
  transport::Task<DiagnosticPort::Connection> open_runtime(std::string runtime_id,
                                                           std::vector<std::byte> message);
  transport::Task<std::optional<ipc::SessionId>> until_answered(const Runtime& runtime, ipc::Command command,
                                                                bool reads_meters, transport::Stream& tool,
                                                                transport::FdStream& opened);
  transport::Task<void> carry_answer(AuditEntry& entry, ToolEndpoint& tool,
                                     std::unique_ptr<transport::FdStream> opened,
                                     std::optional<ipc::SessionId> session, RelayCounts& counts,
                                     transport::BufferBudget::LazyReservation& held);

  transport::Loop& loop_;
  Log log_;
  Admission& admission_;
  Audit& audit_;
  Metrics& metrics_;
  Registry& registry_;
  SuspendedRuntimes& suspended_;
  HaltWatch& halts_;
  MemoryGroups& groups_;
  TracingSessions& tracing_;
  MeterClaims& meters_;
  transport::BufferBudget& budget_;
  Compression compression_;
  CompressorLimit compressors_;
  transport::BufferPool buffers_;
};

}  // namespace farport::router
