// What answers the requests of all sessions.
#pragma once

#include <functional>
#include <string>

#include "router/agent/api/dump_requests.hpp"
#include "router/agent/api/profile_requests.hpp"
#include "router/agent/api/runtime_requests.hpp"
#include "router/agent/connections/diagnostic_connection.hpp"
#include "router/agent/connections/resumption_table.hpp"
#include "router/agent/doctor/doctor.hpp"
#include "router/agent/recordings/recording_requests.hpp"

namespace farport::router {

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

}  // namespace farport::router
