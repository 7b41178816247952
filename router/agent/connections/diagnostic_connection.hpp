// A diagnostic connection at the agent: its first message admitted, the runtime's port opened, both relayed,
// all of it audited. Where the tool's bytes come from is its ToolEndpoint's business.
#pragma once

#include "router/agent/connections/tracing_session.hpp"
#include "router/agent/gate/admission.hpp"
#include "router/agent/runtimes/halt_watch.hpp"
#include "router/agent/runtimes/meter_claims.hpp"
#include "router/agent/runtimes/suspended_runtimes.hpp"
#include "router/stream/compressing_stream.hpp"
#include "transport/party.hpp"
#include "transport/buffer_pool.hpp"

namespace farport::router {

/// What carries all of an agent's diagnostic connections.
class DiagnosticConnections {
 public:
  DiagnosticConnections(transport::Loop& loop, Log log, Admission& admission, Audit& audit, Metrics& metrics,
                        Registry& registry, SuspendedRuntimes& suspended, HaltWatch& halts,
                        TracingSessions& tracing, MeterClaims& meters, transport::BufferBudget& budget,
                        Compression compression, std::size_t most_compressors)
      : loop_(loop),
        log_(std::move(log)),
        admission_(admission),
        audit_(audit),
        metrics_(metrics),
        registry_(registry),
        suspended_(suspended),
        halts_(halts),
        tracing_(tracing),
        meters_(meters),
        budget_(budget),
        compression_(compression),
        compressors_(most_compressors) {}
  DiagnosticConnections(const DiagnosticConnections&) = delete;
  DiagnosticConnections& operator=(const DiagnosticConnections&) = delete;

  /// Carries one to its end. `runtime`: the one that is meant, or why there is none. The caller must stay as
  /// long.
  transport::Task<void> carry(const Caller& caller, tl::expected<RuntimePtr, Refusal> runtime,
                              ToolEndpoint& tool);

 private:
  transport::Task<bool> may_stop(const Runtime& runtime, ToolEndpoint& tool,
                                 std::optional<ipc::SessionId> session);
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
                                     transport::BufferBudget::LateHolding& held);

  transport::Loop& loop_;
  Log log_;
  Admission& admission_;
  Audit& audit_;
  Metrics& metrics_;
  Registry& registry_;
  SuspendedRuntimes& suspended_;
  HaltWatch& halts_;
  TracingSessions& tracing_;
  MeterClaims& meters_;
  transport::BufferBudget& budget_;
  Compression compression_;
  CompressorLimit compressors_;
  transport::BufferPool buffers_;
};

}  // namespace farport::router
