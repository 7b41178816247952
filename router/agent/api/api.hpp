// The agent's API: what the requests of one HTTP/2 session may ask for (docs/wire.md).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "router/agent/api/dump_requests.hpp"
#include "router/agent/api/profile_requests.hpp"
#include "router/agent/api/runtime_requests.hpp"
#include "router/agent/connections/diagnostic_connection.hpp"
#include "router/agent/connections/resumption_table.hpp"
#include "router/agent/doctor/doctor.hpp"
#include "router/agent/recordings/recording_requests.hpp"

namespace farport::router {

// What answers the requests of all sessions.

/// What is looked at for GET /v1/doctor.
enum class Examine : std::uint8_t {
  all,     ///< Runtimes are tried out, too.
  search,  ///< Why there are no others than those that are listed.
};

/// What answers the requests of all sessions.
struct ApiParts {
  RuntimeRequests runtimes;
  DumpRequests dumps;
  RecordingRequests recordings;
  ProfileRequests profiles;
  DiagnosticConnections& connections;
  ResumptionTable& resumption;
  RefusalLog& refusals;
  Metrics& metrics;
  std::uint64_t head_bytes;                                  ///< The most that a request's head may have.
  std::function<std::string(const Caller&)> describe_agent;  ///< GET /v1/agent
  /// GET /v1/doctor. The caller, and its share, outlive the task.
  std::function<transport::Task<std::string>(const Caller&, Examine, transport::Share&)> examine;
  std::function<std::string()> metrics_text;  ///< GET /v1/metrics
  /// GET /v1/metrics/runtimes, of those that count. Null where they are not kept.
  std::function<std::string(const Registry::Filter&)> app_metrics_text;
};

/// Outlives its session where an answer does.
class Api : public std::enable_shared_from_this<Api> {
 public:
  /// `share`: the caller's share of the agent.
  Api(ApiParts& parts, std::unique_ptr<Limits::Session> share, Caller caller)
      : parts_(parts), session_{std::move(caller), std::move(share)} {}

  /// Answers one request; ends when its stream has ended, or when another task answers it.
  transport::Task<void> handle(std::unique_ptr<transport::Http2Stream> request);

 private:
  using Handler = Handled (Api::*)(Response&, Route);
  struct Known;

  [[nodiscard]] static tl::expected<Known, Refusal> handler_of(const Route& route);
  transport::Task<void> finish(Response& response, Handled handled);
  transport::Task<void> refuse(Response& response, Refusal refusal);
  transport::Task<void> refuse(Response& response, const LimitExceeded& exceeded);

  Handled list(Response& response, Route route);
  Handled process(Response& response, Route route);
  Handled access(Response& response, Route route);
  Handled about_agent(Response& response, Route route);
  Handled doctor(Response& response, Route route);
  Handled examine(Response& response, Route route);
  Handled metrics(Response& response, Route route);
  Handled app_metrics(Response& response, Route route);
  Handled connection(Response& response, Route route);
  Handled carry_connection(Response& response, tl::expected<RuntimePtr, Refusal> runtime);
  Handled in_place(Response& response, Route route, Handler work);
  Handled dump(Response& response, Route route);
  Handled record(Response& response, Route route);
  Handled take_recording(Response& response, Route route);
  Handled take_dump(Response& response, Route route);
  Handled dump_progress(Response& response, Route route);
  Handled profile(Response& response, Route route);
  Handled take_profile(Response& response, Route route);
  Handled forget(Response& response, Route route);
  /// Has a request answered beyond the end of its session.
  transport::Task<void> outlive(std::unique_ptr<transport::Http2Stream> request, Handler handler,
                                Route route);
  transport::Task<void> resume(std::unique_ptr<transport::Http2Stream> request, Route route);

  ApiParts& parts_;
  CallerSession session_;
};

}  // namespace farport::router
