// The agent's API: what the requests of one HTTP/2 session may ask for (docs/wire.md).
#pragma once

#include <memory>

#include "router/diagnostic_connection.hpp"
#include "router/route.hpp"
#include "transport/http2_session.hpp"

namespace farport::router {

class Api {
 public:
  /// `session`: the caller's share of the agent. Both must outlive this.
  Api(AgentServices& services, Limits::Session& session, Caller caller)
      : services_(services), session_(session), caller_(std::move(caller)) {}

  /// Answers one request; ends when its stream has ended.
  transport::Task<void> handle(std::unique_ptr<transport::Http2Stream> request);

 private:
  using Handler = transport::Task<void> (Api::*)(transport::Http2Stream&, Route);

  [[nodiscard]] static tl::expected<Handler, Refusal> handler_of(const Route& route);
  [[nodiscard]] tl::expected<Runtime, Refusal> runtime_of(const Route& route) const;
  [[nodiscard]] Registry::Filter visible() const;
  transport::Task<void> refuse(transport::Http2Stream& request, Refusal refusal);
  transport::Task<void> refuse(transport::Http2Stream& request, const Exceeded& exceeded);

  transport::Task<void> list(transport::Http2Stream& request, Route route);
  transport::Task<void> watch(transport::Http2Stream& request, Route route);
  transport::Task<void> about_agent(transport::Http2Stream& request, Route route);
  transport::Task<void> metrics(transport::Http2Stream& request, Route route);
  transport::Task<void> access(transport::Http2Stream& request, Route route);
  transport::Task<void> connection(transport::Http2Stream& request, Route route);
  transport::Task<void> dump(transport::Http2Stream& request, Route route);
  transport::Task<void> dump_progress(transport::Http2Stream& request, Route route);
  /// Answers the request, or says why not. Fills in what the audit says of it.
  transport::Task<std::optional<Refusal>> take_dump(transport::Http2Stream& request, Route route,
                                                    Runtime runtime, AuditEntry& entry);

  AgentServices& services_;
  Limits::Session& session_;
  Caller caller_;
};

}  // namespace farport::router
