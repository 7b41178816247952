// The agent's API: what the requests of one HTTP/2 session may ask for (docs/wire.md).
#pragma once

#include <chrono>
#include <memory>

#include "base/log.hpp"
#include "router/buffer_pool.hpp"
#include "router/gate.hpp"
#include "router/registry.hpp"
#include "router/suspended_runtimes.hpp"
#include "transport/fd_stream.hpp"
#include "transport/http2_session.hpp"

namespace farport::router {

/// What all sessions of an agent share.
struct AgentServices {
  transport::Loop& loop;
  Log log;
  Registry& registry;
  SuspendedRuntimes& suspended;
  BufferPool& buffers;
  transport::Milliseconds first_message_limit;
  std::chrono::steady_clock::time_point started;
};

/// Opens the runtime's socket for a message that has passed the gate, and sends it. Errors: the runtime is
/// gone or its socket can't be used.
transport::Task<Result<std::unique_ptr<transport::FdStream>>> open_runtime(AgentServices& services,
                                                                           std::string runtime_id,
                                                                           std::vector<std::byte> message);

/// Logs what became of a diagnostic connection.
void log_outcome(AgentServices& services, const Caller& caller, const Runtime& runtime,
                 const ipc::Header& command, std::uint64_t to_tool,
                 std::chrono::steady_clock::time_point since, const std::optional<Error>& broken);

class Api {
 public:
  Api(AgentServices& services, Caller caller) : services_(services), caller_(std::move(caller)) {}

  /// Answers one request; ends when its stream has ended.
  transport::Task<void> handle(std::unique_ptr<transport::Http2Stream> request);

 private:
  transport::Task<void> refuse(transport::Http2Stream& request, int status, std::string why);
  transport::Task<void> list(transport::Http2Stream& request);
  transport::Task<void> watch(transport::Http2Stream& request);
  transport::Task<void> about_agent(transport::Http2Stream& request);
  transport::Task<void> diagnostic_connection(transport::Http2Stream& request, std::string id);
  transport::Task<void> carry(transport::Http2Stream& request, Runtime runtime, FirstMessage first);

  AgentServices& services_;
  Caller caller_;
};

}  // namespace farport::router
