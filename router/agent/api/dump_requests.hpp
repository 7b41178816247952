// The API's requests for dumps.
#pragma once

#include "router/agent/api/caller_session.hpp"
#include "router/agent/dumps/dump.hpp"
#include "router/agent/gate/audit.hpp"
#include "router/agent/metrics/metrics.hpp"
#include "router/wire/session_options.hpp"

namespace farport::router {

class DumpRequests {
 public:
  DumpRequests(Dumps& dumps, Audit& audit, Metrics& metrics, Compression compression)
      : dumps_(dumps), audit_(audit), metrics_(metrics), compression_(compression) {}

  /// POST /v1/runtimes/{id}/dump. `runtime` is the one that the route names, or why there is none.
  Handled take(Response& response, Route route, const Caller& caller,
               tl::expected<RuntimePtr, Refusal> runtime);
  /// GET /v1/runtimes/{id}/dump
  Handled progress(Response& response, const Caller& caller, tl::expected<RuntimePtr, Refusal> runtime);

 private:
  Handled write(Response& response, Route route, Runtime runtime, AuditEntry& entry);

  Dumps& dumps_;
  Audit& audit_;
  Metrics& metrics_;
  Compression compression_;
};

}  // namespace farport::router
