// The agent's API: answers the requests of one HTTP/2 session (docs/developers/wire.md).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "profile/form.hpp"
#include "router/agent/api/artifact_requests.hpp"
#include "router/agent/api/caller_session.hpp"
#include "router/agent/api/recent_requests.hpp"
#include "router/agent/connections/diagnostic_connection.hpp"
#include "router/agent/connections/resumption_table.hpp"
#include "router/agent/doctor/doctor.hpp"
#include "router/agent/dumps/dump.hpp"
#include "router/agent/gate/audit.hpp"
#include "router/agent/metrics/metrics.hpp"
#include "router/agent/recordings/recording_requests.hpp"
#include "router/agent/runtimes/halt_watch.hpp"
#include "router/agent/sampler/sampler_work.hpp"
#include "router/stream/compressing_stream.hpp"
#include "router/wire/session_options.hpp"

namespace farport::router {

/// The API's requests for dumps.
class DumpRequests {
 public:
  DumpRequests(Dumps& dumps, Audit& audit, Metrics& metrics, Compression compression)
      : dumps_(dumps), audit_(audit), metrics_(metrics), compression_(compression) {}

  /// POST /v1/runtimes/{id}/dump. `runtime` is the one that the route names, or why there is none.
  Handled take(Answer& answer, Route route, const Caller& caller, tl::expected<RuntimePtr, Refusal> runtime);
  /// GET /v1/runtimes/{id}/dump
  Handled progress(Answer& answer, const Caller& caller, tl::expected<RuntimePtr, Refusal> runtime);

 private:
  Handled write(Answer& answer, Route route, Runtime runtime, AuditEntry& entry);
  /// Whether the dump goes straight to a store, which it does if there is no room for it, and the caller
  /// allows that to stop the application for so long. Refused if there is no room otherwise.
  static transport::Task<tl::expected<bool, Refusal>> goes_straight(
      Dumps::Job& job, WayToStore* way, std::optional<transport::Milliseconds> longest);
  /// Has the runtime write the dump, and returns whether it went straight to the store.
  transport::Task<tl::expected<bool, Refusal>> write_dump(Answer& answer, Dumps::Job& job, WayToStore* way,
                                                          std::optional<transport::Milliseconds> longest,
                                                          AuditEntry& entry);

  Dumps& dumps_;
  Audit& audit_;
  Metrics& metrics_;
  Compression compression_;
};

/// The API's requests about runtimes: their list, the state of their processes, and what the caller may do.
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
  Handled list(Answer& answer, const Route& route, CallerSession& session);
  /// GET /v1/runtimes/{id}/process: what the kernel says about its process now.
  Handled process(Answer& answer, Route route, CallerSession& session);
  /// GET /v1/access
  Handled access(Answer& answer, Route route, CallerSession& session);

  /// The header field with the agent's instance, for each answer about the agent.
  [[nodiscard]] transport::HeaderFields instance_field() const;

 private:
  Handled list_once(Answer& answer, CallerSession& session);
  Handled watch(Answer& answer, CallerSession& session);
  void begin_watch(Answer& answer) const;

  Registry& registry_;
  HaltWatch& halts_;
  std::string instance_;
  std::size_t requests_per_second_;
};

/// A profile as a file, for callers without farport.
struct ProfileFile {
  profile::Form form{};
  std::string content_type;
};

/// The file that the query parameter `format` asks for. Nothing if `word` is empty: the answer is then the
/// samples themselves. Errors: there is no such format.
[[nodiscard]] Result<std::optional<ProfileFile>> profile_file(const std::string& word);

/// The API's requests for profiles of the stacks on which a runtime's threads run.
class ProfileRequests {
 public:
  /// `sampler` may be null.
  ProfileRequests(transport::Loop& loop, Registry& registry, std::shared_ptr<const SamplerProcess> sampler,
                  Readers readers, DiagnosticConnections& connections, Audit& audit, Metrics& metrics);

  /// POST /v1/runtimes/{id}/profile. `runtime` is the one that the route names, or why there is none.
  Handled take(Answer& answer, Route route, const Caller& caller, tl::expected<RuntimePtr, Refusal> runtime);

 private:
  Handled sample(Answer& answer, Route route, RuntimePtr runtime, AuditEntry& entry);
  transport::Task<tl::expected<std::unique_ptr<SamplerWork>, Refusal>> begin(const Runtime& runtime,
                                                                             SamplingRequest wanted);
  Handled send_samples(Answer& answer, SamplingRequest wanted, RuntimePtr runtime, AuditEntry& entry);
  struct FileWanted {
    ReadingRequest reading;
    std::string content_type;
  };
  /// Has a reader make a file of the samples, and sends that.
  Handled send_file(Answer& answer, SamplingRequest wanted, FileWanted file, RuntimePtr runtime,
                    AuditEntry& entry);
  [[nodiscard]] tl::expected<Places::Place, Refusal> take_place(const Caller& caller, uid_t user,
                                                                std::uint32_t seconds);

  transport::Loop& loop_;
  Registry& registry_;
  std::shared_ptr<const SamplerProcess> sampler_;
  Readers readers_;
  DiagnosticConnections& connections_;
  Audit& audit_;
  Metrics& metrics_;
  std::uint64_t memory_of_each_;  ///< For the samples and symbols of one profile, in bytes.
  Places places_;                 ///< For profiles under way.
};

/// The API's requests for the libraries and assemblies that a debugger needs for a dump.
class ModuleRequests {
 public:
  /// `sampler`, which reads them, may be null.
  ModuleRequests(transport::Loop& loop, Registry& registry, std::shared_ptr<const SamplerProcess> sampler,
                 Audit& audit, Compression compression);

  /// POST /v1/runtimes/{id}/modules. `runtime` is the one that the route names, or why there is none.
  Handled take(Answer& answer, Route route, const Caller& caller, tl::expected<RuntimePtr, Refusal> runtime);

 private:
  Handled send(Answer& answer, Route route, RuntimePtr runtime, AuditEntry& entry);

  transport::Loop& loop_;
  Registry& registry_;
  std::shared_ptr<const SamplerProcess> sampler_;
  Audit& audit_;
  Compression compression_;
  CompressorLimit compressors_;
  Places places_;
};

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
  ModuleRequests modules;
  RecentRequests recent;
  ArtifactRequests artifacts;
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
  /// GET /v1/rules, for the runtimes that pass the filter. Null if there are no rules.
  std::function<std::string(const Registry::Filter&)> rules_text;
};

/// The API of one session. It lives on after the session for as long as it makes a resumable answer.
class Api : public std::enable_shared_from_this<Api> {
 public:
  /// `share` is the caller's part of the agent's limits.
  Api(ApiParts& parts, std::unique_ptr<Limits::Session> share, Caller caller)
      : parts_(parts), session_{std::move(caller), std::move(share)} {}

  /// Answers one request. Returns when its stream has ended, or when another task has taken it over.
  transport::Task<void> handle(std::unique_ptr<transport::Http2Stream> request);
  /// Has the agent itself take what a request with keep=true for this target would. Returns the artifact once
  /// that has begun. `cause` says why it is taken.
  transport::Task<tl::expected<Artifact, Refusal>> take(std::string method, std::string target,
                                                        std::string cause);
  /// Waits until nobody watches the artifacts in this session.
  transport::Task<void> unwatched() const { return parts_.artifacts.unwatched(session_); }
  /// Waits until the caller has begun to watch them in this session, and has given that up.
  transport::Task<void> followed() const { return parts_.artifacts.followed(session_); }
  /// Whether the caller has watched them in this session.
  [[nodiscard]] bool has_followed() const { return session_.has_followed; }

 private:
  using Handler = Handled (Api::*)(Answer&, Route);
  struct RouteEntry;

  [[nodiscard]] static tl::expected<RouteEntry, Refusal> handler_of(const Route& route);
  /// Answers a request by the handler of its route.
  Handled handled(const RouteEntry& known, Answer& answer, Route route);
  /// The same for what carries the answer.
  Handled handled_over(Response& carrier, RouteEntry known, Route route);
  transport::Task<void> finish(Answer& answer, Handled handled);
  transport::Task<void> refuse(Answer& answer, Refusal refusal);
  transport::Task<void> refuse(Answer& answer, const LimitExceeded& exceeded);

  Handled list(Answer& answer, Route route);
  Handled process(Answer& answer, Route route);
  Handled access(Answer& answer, Route route);
  Handled about_agent(Answer& answer, Route route);
  Handled doctor(Answer& answer, Route route);
  Handled examine(Answer& answer, Route route);
  Handled metrics(Answer& answer, Route route);
  Handled app_metrics(Answer& answer, Route route);
  Handled rules(Answer& answer, Route route);
  /// The runtimes whose counters the caller may have reported, and so may see what they have reported.
  [[nodiscard]] Registry::Filter counted() const;
  Handled connection(Answer& answer, Route route);
  Handled carry_connection(Answer& answer, tl::expected<RuntimePtr, Refusal> runtime);
  Handled in_place(Answer& answer, Route route, Handler work);
  Handled dump(Answer& answer, Route route);
  Handled record(Answer& answer, Route route);
  Handled dump_progress(Answer& answer, Route route);
  Handled list_artifacts(Answer& answer, Route route);
  Handled find_artifact(Answer& answer, Route route);
  Handled get_artifact(Answer& answer, Route route);
  Handled remove_artifact(Answer& answer, Route route);
  Handled profile(Answer& answer, Route route);
  Handled modules(Answer& answer, Route route);
  Handled recent(Answer& answer, Route route);
  Handled forget(Answer& answer, Route route);
  /// Has the answer become an artifact.
  Handled keep(Answer& answer, RouteEntry known, Route route);
  /// Answers a request with a resumable response, which may outlive its session.
  transport::Task<void> outlive(std::unique_ptr<transport::Http2Stream> request, RouteEntry known,
                                Route route);
  static transport::Task<void> answer_to_the_end(std::shared_ptr<Api> api,
                                                 std::unique_ptr<ResumableResponse> carrier, RouteEntry known,
                                                 Route route);
  transport::Task<void> resume(std::unique_ptr<transport::Http2Stream> request, Route route);

  ApiParts& parts_;
  CallerSession session_;
};

}  // namespace farport::router
