// The API's requests about runtimes: their list, the state of their processes, and what the caller may do.
#pragma once

#include "router/agent/api/caller_session.hpp"
#include "router/agent/dumps/dump.hpp"
#include "router/agent/gate/audit.hpp"
#include "router/agent/metrics/metrics.hpp"
#include "router/agent/runtimes/halt_watch.hpp"
#include "router/wire/session_options.hpp"

namespace farport::router {

// The API's requests for dumps.

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

class RuntimeRequests {
 public:
  /// `instance` identifies this run of the agent, for callers that reach it at several addresses.
  RuntimeRequests(Registry& registry, HaltWatch& halts, std::string instance, std::size_t requests_per_second)
      : registry_(registry),
        halts_(halts),
        instance_(std::move(instance)),
        requests_per_second_(requests_per_second) {}

  /// The runtime that a request names. Refused if the caller sees no such runtime.
  [[nodiscard]] tl::expected<RuntimePtr, Refusal> find(const Route& route, const Caller& caller) const;

  /// GET /v1/runtimes: the list once, or with watch=true the changes for as long as the caller reads.
  Handled list(Response& response, const Route& route, CallerSession& session);
  /// GET /v1/runtimes/{id}/process: what the kernel says about its process now.
  Handled process(Response& response, Route route, CallerSession& session);
  /// GET /v1/access
  Handled access(Response& response, Route route, CallerSession& session);

  /// The header field with the agent's instance, for each answer about the agent.
  [[nodiscard]] transport::HeaderFields instance_field() const;

 private:
  Handled list_once(Response& response, CallerSession& session);
  Handled watch(Response& response, CallerSession& session);
  void begin_watch(Response& response) const;

  Registry& registry_;
  HaltWatch& halts_;
  std::string instance_;
  std::size_t requests_per_second_;
};

}  // namespace farport::router
