// A diagnostic connection at the agent: its first message read and judged, the runtime's port opened, both
// relayed, all of it audited. Where the tool's bytes come from is its ToolEnd's business.
#pragma once

#include <chrono>

#include "base/log.hpp"
#include "router/agent/connections/resumption.hpp"
#include "router/agent/connections/tracing_session.hpp"
#include "router/agent/dumps/dump.hpp"
#include "router/agent/gate/audit.hpp"
#include "router/agent/gate/gate.hpp"
#include "router/agent/gate/handshakes.hpp"
#include "router/agent/gate/limits.hpp"
#include "router/agent/metrics/metrics.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "router/agent/runtimes/suspended_runtimes.hpp"
#include "router/stream/compression_choice.hpp"
#include "transport/buffer_budget.hpp"
#include "transport/buffer_pool.hpp"
#include "transport/rate_limited_log.hpp"
#include "transport/share.hpp"

namespace farport::router {

class Discovery;

/// What all connections to an agent share.
struct AgentServices {
  transport::Loop& loop;
  Log log;
  const auth::Policy& policy;
  Registry& registry;
  const Discovery& discovery;
  SuspendedRuntimes& suspended;
  transport::BufferPool& buffers;
  Audit& audit;
  Dumps& dumps;
  Resumption& resumption;
  TracingSessions& tracing;
  Limits& limits;
  Metrics& metrics;
  Handshakes& handshakes;
  transport::BufferBudget& budget;
  std::shared_ptr<transport::Share> strangers;  ///< What all peers that have no session may take of the loop.
  transport::RateLimitedLog& warnings;
  Compression compression;
  std::chrono::steady_clock::time_point started;
};

/// The tool's end, as it comes in to the agent.
class ToolEnd {
 public:
  [[nodiscard]] virtual transport::Stream& stream() = 0;
  /// Whether what is sent to it shall be zstd, where the agent compresses in this way.
  [[nodiscard]] virtual bool wants_zstd(Compression) const { return false; }
  /// The runtime has answered: what is written to the stream from now on is its, as zstd if said so.
  virtual void accept(bool as_zstd) = 0;
  /// The command is GenerateCoreDump3, whose IPC error alone has room for words.
  virtual void allow_text() {}
  /// Tells the tool that nothing comes of it.
  virtual transport::Task<void> refuse(Refusal refusal) = 0;

 protected:
  ~ToolEnd() = default;
};

/// Carries a diagnostic connection to its end. `runtime`: the one that is meant, or why there is none. The
/// caller must stay as long.
transport::Task<void> carry_diagnostic_connection(AgentServices& services, const Caller& caller,
                                                  tl::expected<RuntimePtr, Refusal> runtime, ToolEnd& tool);

/// Opens a port of the runtime and sends it a message that has passed the gate. Errors: the runtime is gone
/// or its port can't be used.
transport::Task<RuntimePort::Connection> open_runtime(AgentServices& services, std::string runtime_id,
                                                      std::vector<std::byte> message);

}  // namespace farport::router
