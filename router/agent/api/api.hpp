// The agent's API: answers the requests of one HTTP/2 session (docs/developers/wire.md).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "router/agent/api/profile_requests.hpp"
#include "router/agent/api/runtime_requests.hpp"
#include "router/agent/connections/diagnostic_connection.hpp"
#include "router/agent/connections/resumption_table.hpp"
#include "router/agent/doctor/doctor.hpp"
#include "router/agent/recordings/recording_requests.hpp"

namespace farport::router {

/// What GET /v1/doctor examines.
enum class Examine : std::uint8_t {
  all,     ///< The search, and each runtime.
  search,  ///< Only the search: why there are no more runtimes than those listed.
};

/// The parts of the agent that the API uses. All sessions share them.
struct ApiParts {
  RuntimeRequests runtimes;
  DumpRequests dumps;
  RecordingRequests recordings;
  ProfileRequests profiles;
  DiagnosticConnections& connections;
  ResumptionTable& resumption;
  RefusalLog& refusals;
  Metrics& metrics;
  std::uint64_t head_bytes;                                  ///< The largest head that a request may have.
  std::function<std::string(const Caller&)> describe_agent;  ///< GET /v1/agent
  /// GET /v1/doctor. The caller and its share must outlive the task.
  std::function<transport::Task<std::string>(const Caller&, Examine, transport::Share&)> examine;
  std::function<std::string()> metrics_text;  ///< GET /v1/metrics
  /// GET /v1/metrics/runtimes, for the runtimes that pass the filter. Null if these metrics are not kept.
  std::function<std::string(const Registry::Filter&)> app_metrics_text;
};

/// The API of one session. It lives on after the session for as long as it makes a resumable answer.
class Api : public std::enable_shared_from_this<Api> {
 public:
  /// `share` is the caller's part of the agent's limits.
  Api(ApiParts& parts, std::unique_ptr<Limits::Session> share, Caller caller)
      : parts_(parts), session_{std::move(caller), std::move(share)} {}

  /// Answers one request. Returns when its stream has ended, or when another task has taken it over.
  transport::Task<void> handle(std::unique_ptr<transport::Http2Stream> request);

 private:
  using Handler = Handled (Api::*)(Response&, Route);
  struct RouteEntry;

  [[nodiscard]] static tl::expected<RouteEntry, Refusal> handler_of(const Route& route);
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
  /// Answers a request with a resumable response, which may outlive its session.
  transport::Task<void> outlive(std::unique_ptr<transport::Http2Stream> request, Handler handler,
                                Route route);
  transport::Task<void> resume(std::unique_ptr<transport::Http2Stream> request, Route route);

  ApiParts& parts_;
  CallerSession session_;
};

}  // namespace farport::router
