// The agent's API: what the requests of one HTTP/2 session may ask for (docs/wire.md).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "router/agent/api/route.hpp"
#include "router/agent/connections/answer.hpp"
#include "router/agent/connections/diagnostic_connection.hpp"
#include "transport/http2_session.hpp"

namespace farport::router {

/// Outlives its session where an answer does.
class Api : public std::enable_shared_from_this<Api> {
 public:
  /// `session`: the caller's share of the agent.
  Api(AgentServices& services, std::unique_ptr<Limits::Session> session, Caller caller)
      : services_(services), session_(std::move(session)), caller_(std::move(caller)) {}

  /// Answers one request; ends when its stream has ended, or when somebody else answers it.
  transport::Task<void> handle(std::unique_ptr<transport::Http2Stream> request);

 private:
  using Handler = transport::Task<void> (Api::*)(Answer&, Route);
  struct Known;

  [[nodiscard]] static tl::expected<Known, Refusal> handler_of(const Route& route);
  [[nodiscard]] tl::expected<RuntimePtr, Refusal> runtime_of(const Route& route) const;
  [[nodiscard]] Registry::Filter visible() const;
  transport::Task<void> refuse(Answer& answer, Refusal refusal);
  transport::Task<void> refuse(Answer& answer, const Exceeded& exceeded);

  /// Answers with a JSON array that is made in so many parts, each when it is the caller's turn: part(i)
  /// gives items with commas between them, or none.
  transport::Task<void> array(Answer& answer, std::size_t parts,
                              std::function<std::string(std::size_t)> part);
  /// Answers with what `make` makes, when it is the caller's turn.
  transport::Task<void> text(Answer& answer, std::string type, std::function<std::string()> make);
  transport::Task<void> list(Answer& answer, Route route);
  transport::Task<void> watch(Answer& answer, Route route);
  transport::Task<void> about_agent(Answer& answer, Route route);
  transport::Task<void> metrics(Answer& answer, Route route);
  transport::Task<void> access(Answer& answer, Route route);
  transport::Task<void> connection(Answer& answer, Route route);
  transport::Task<void> carry_connection(Answer& answer, tl::expected<RuntimePtr, Refusal> runtime);
  transport::Task<void> dump(Answer& answer, Route route);
  transport::Task<void> dump_progress(Answer& answer, Route route);
  transport::Task<void> forget(Answer& answer, Route route);
  /// Has a request answered beyond the end of its session.
  transport::Task<void> outlive(std::unique_ptr<transport::Http2Stream> request, Handler handler,
                                Route route);
  transport::Task<void> resume(std::unique_ptr<transport::Http2Stream> request, Route route);
  /// Answers the request, or says why not. Fills in what the audit says of it.
  transport::Task<std::optional<Refusal>> take_dump(Answer& answer, Route route, Runtime runtime,
                                                    AuditEntry& entry);

  AgentServices& services_;
  std::unique_ptr<Limits::Session> session_;
  Caller caller_;
  std::size_t watches_ = 0;  ///< That are open.
};

}  // namespace farport::router
