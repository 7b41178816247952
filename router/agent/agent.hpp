// The agent, `farport serve`: accepts sessions on the runtimes' host and carries their diagnostic
// connections.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "auth/policy.hpp"
#include "base/error.hpp"
#include "router/agent/admin/admin_server.hpp"
#include "router/agent/api/api.hpp"
#include "router/agent/app_metrics/app_metrics.hpp"
#include "router/agent/artifacts/artifacts.hpp"
#include "router/agent/doctor/doctor.hpp"
#include "router/agent/egress/store_sender.hpp"
#include "router/agent/mirror_dialler.hpp"
#include "router/agent/recorder/recorder.hpp"
#include "router/agent/rules/rules.hpp"
#include "router/agent/runtimes/connect_port.hpp"
#include "router/agent/runtimes/discovery.hpp"
#include "router/certificates/credential_watch.hpp"
#include "router/sockets/socket_manifest.hpp"
#include "router/wire/session_options.hpp"
#include "transport/handshake_limiter.hpp"
#include "transport/loop.hpp"
#include "transport/socket.hpp"
#include "transport/task_set.hpp"
#include "transport/timer.hpp"
#include "transport/tls_stream.hpp"

namespace farport::router {

// LocalSocket: where users of the agent's host connect without TLS; the kernel says who they are.

class LocalSocket {
 public:
  /// Makes a socket at `path`, and replaces one that a dead agent of this user has left there. If `for_all`,
  /// every user may connect, otherwise only this one. Errors: the socket can't be made.
  static Result<std::unique_ptr<LocalSocket>> create(transport::Loop& loop, const std::string& path,
                                                     bool for_all);

  LocalSocket(std::unique_ptr<transport::Listener> listener, std::string path)
      : listener_(std::move(listener)), path_(std::move(path)), made_(path_) {}
  LocalSocket(const LocalSocket&) = delete;
  LocalSocket& operator=(const LocalSocket&) = delete;
  /// Removes the socket, unless its name belongs to another file by now.
  ~LocalSocket() { made_.remove(path_); }

  [[nodiscard]] transport::Listener& listener() { return *listener_; }

 private:
  std::unique_ptr<transport::Listener> listener_;
  std::string path_;
  MadeFile made_;
};

/// The open connections to an agent, so that it can end them when it stops.
class LiveConnections {
 public:
  LiveConnections() = default;
  LiveConnections(const LiveConnections&) = delete;
  LiveConnections& operator=(const LiveConnections&) = delete;

  /// Asks each connection to take nothing new and to end once its work is done.
  void drain();
  /// Ends each connection at once.
  void end();

 private:
  friend class LiveConnection;
  transport::NodeList open_;
};

/// Keeps a connection in the list for as long as this object lives.
class LiveConnection final : private transport::ListNode {
 public:
  /// Both functions are called from the loop. `drain` may be empty for a connection that takes nothing new
  /// anyway.
  LiveConnection(LiveConnections& connections, std::function<void()> drain, std::function<void()> end)
      : drain_(std::move(drain)), end_(std::move(end)) {
    connections.open_.push(*this);
  }
  ~LiveConnection() = default;

 private:
  friend class LiveConnections;
  std::function<void()> drain_;
  std::function<void()> end_;
};

inline void LiveConnections::drain() {
  open_.for_each([](transport::ListNode& node) {
    const auto& connection = static_cast<const LiveConnection&>(node);
    if (connection.drain_) connection.drain_();
  });
}
inline void LiveConnections::end() {
  open_.for_each([](transport::ListNode& node) { static_cast<const LiveConnection&>(node).end_(); });
}

/// Everything that an agent needs to know before it starts.
struct AgentSettings {
  std::string host_name;                   ///< The name of the runtimes' host.
  std::vector<transport::Address> listen;  ///< For mutual TLS.
  std::vector<UniqueFd> inherited;  ///< Sockets that listen already: TCP for TLS, Unix for local users.
  std::vector<DialledMirror> dial;  ///< Mirrors to dial, for as long as the agent runs.
  bool reuse_port = false;          ///< Share the ports with another agent that does so too, to hand over.
  std::optional<transport::Address> insecure_loopback;  ///< Plain TCP; must be a loopback address.
  std::vector<transport::Address> admin;                ///< For health and metrics, over plain HTTP.
  std::string local;           ///< A Unix socket for users of this host; may be empty.
  bool local_for_all = false;  ///< Let all users connect there; the grants decide.
  /// How long the agent goes on after its last session; if empty, it never ends by itself. After a session
  /// that broke, it waits at least as long as that one may be resumed.
  std::optional<transport::Milliseconds> linger;
  DiscoverySettings discovery;
  DumpSettings dump;
  std::vector<std::string> connect_ports;  ///< Paths of sockets for runtimes to dial.
  std::optional<transport::Milliseconds> resume_after;
  auth::LimitSettings limits;
  SessionOptions session;
  std::optional<AppMetricsSettings> app_metrics;   ///< If empty, the metrics of applications are not kept.
  std::optional<RecorderSettings> recorder;        ///< If empty, there is no recorder.
  std::string artifacts_directory;                 ///< If empty, nothing is kept.
  ArtifactLimits artifacts;                        ///< Of that directory.
  std::vector<StoreSettings> stores;               ///< To which it is sent.
  std::optional<RulesSettings> rules;              ///< If empty, there are none.
  std::shared_ptr<const CommandProcess> commands;  ///< Of stores and rules; null if there are none.
  std::shared_ptr<const SamplerProcess> sampler;   ///< May be null: there are no profiles then.
  std::shared_ptr<const ReaderProcess> readers;    ///< May be null: there are no recordings over HTTP then.
  transport::Milliseconds drain_limit{10'000};     ///< How long running work may go on after stop().
};

class Agent {
 public:
  /// `credentials` may be null if there are neither TLS listeners nor mirrors to dial.
  Agent(transport::Loop& loop, Log log, AgentSettings settings, auth::TlsCredentialsPtr credentials,
        auth::Policy policy, std::unique_ptr<Audit> audit);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  /// Opens the listening sockets, those for health and metrics first. Errors name the address or the path.
  Result<void> listen();
  /// Serves until stop() is called, and then until the agent has ended in good order.
  transport::Task<void> run();
  /// First call: takes nothing new, lets running work go on for the drain limit, then has the rest stopped.
  /// Second call: ends at once.
  void stop();
  /// Opens the audit log again after a program has rotated it.
  void reopen_audit();
  /// Reads the certificate, key, CAs and CRLs again.
  void reload_certificates();
  /// Null without TLS.
  [[nodiscard]] const CredentialWatch* credentials() const { return credentials_.get(); }

 private:
  using Accepted = std::unique_ptr<transport::FdStream>;
  using Handler = transport::Task<void> (Agent::*)(Accepted);
  /// A listener, and the function that serves its connections.
  struct Endpoint {
    std::unique_ptr<transport::Listener> listener;
    Handler handler;
  };

  Result<void> listen_for_admin();
  Result<void> listen_by_tcp();
  void listen_by_inheritance();
  transport::Task<void> give_back_memory();
  transport::Task<void> watch_helper(const HelperProcess& helper, const char* what);
  transport::Task<void> drain();
  void stop_listening();
  transport::Task<void> listen_for_absent();
  /// Logs what did not reach those who wait for it.
  transport::Task<void> say_what_remains();
  /// Waits until nothing runs any more. Returns false if `limit` passes or stop() is called again before.
  transport::Task<bool> ended_within(transport::Milliseconds limit);
  transport::Task<bool> ended_or_stopped();
  transport::Task<void> remove_old_artifacts();
  transport::Task<void> idle();
  transport::Task<void> send_last();
  transport::Task<bool> sent_or_stopped();
  transport::Task<void> accept(transport::Listener& listener, Handler handler);
  transport::Task<void> serve(Handler handler, Accepted connection);
  transport::Task<void> serve_tls(Accepted connection);
  transport::Task<void> serve_dialled(Accepted connection);
  /// Does the TLS handshake, then serves or refuses the caller. If `dialled`, the agent sends its greeting
  /// first.
  transport::Task<void> serve_secured(Accepted connection, bool dialled);
  transport::Task<void> serve_plain(Accepted connection);
  transport::Task<void> serve_local(Accepted connection);
  transport::Task<void> serve_caller(std::unique_ptr<transport::TlsStream> tls, Caller caller,
                                     std::unique_ptr<Limits::Session> share);
  transport::Task<void> refuse_caller(std::unique_ptr<transport::TlsStream> tls, const Caller& caller,
                                      Refusal refusal);
  /// `ssl` is null if the connection has no TLS.
  transport::Task<void> serve_session(std::unique_ptr<transport::Stream> connection, SSL* ssl, Caller caller,
                                      std::unique_ptr<Limits::Session> share);
  transport::Task<void> end_when_unused();
  transport::Task<void> serve_raw(transport::Stream& stream, Caller caller,
                                  std::unique_ptr<Limits::Session> share, std::string wanted);
  [[nodiscard]] bool takes_no_session_of(const Caller& caller);
  [[nodiscard]] transport::Party stranger(const Caller& caller);
  [[nodiscard]] transport::Party turned_away();
  [[nodiscard]] transport::Http2Limits http2_limits() const;
  void note_pause(const Error& why);
  transport::Task<std::unique_ptr<transport::TlsStream>> shake_hands(
      Accepted connection, const Caller& caller, const transport::HandshakeLimiter::Entry& entry);
  [[nodiscard]] tl::expected<RuntimePtr, Refusal> choose_raw(const Caller& caller,
                                                             const std::string& wanted) const;
  /// The answer to GET /v1/agent (agent_report.cpp).
  [[nodiscard]] std::string describe(const Caller& caller) const;
  /// `share` is the caller's.
  transport::Task<std::string> examine(const Caller& caller, Examine what, transport::Share& share);
  [[nodiscard]] std::string metrics_text() const;
  [[nodiscard]] std::vector<std::string> why_not_ready() const;
  /// Whether the process that takes profiles runs.
  [[nodiscard]] bool samples() const {
    return settings_.sampler != nullptr && settings_.sampler->process().running();
  }
  /// Null if the metrics of applications are not kept.
  [[nodiscard]] std::function<std::string(const Registry::Filter&)> app_metrics_text() const;
  /// Null if there are no rules.
  [[nodiscard]] std::function<std::string(const Registry::Filter&)> rules_text() const;
  /// Null if there is no recorder.
  [[nodiscard]] RecentRequests::FilesOf recent_files() const;
  void write_process(MetricsText& text) const;
  void write_sessions(MetricsText& text) const;
  void write_diagnostics(MetricsText& text) const;
  void write_recorder(MetricsText& text) const;
  void write_stores(MetricsText& text) const;
  void write_rules(MetricsText& text) const;
  void write_resumption(MetricsText& text) const;

  transport::Loop& loop_;
  Log log_;
  AgentSettings settings_;
  std::unique_ptr<CredentialWatch> credentials_;
  auth::Policy policy_;
  std::unique_ptr<Audit> audit_;
  transport::BufferBudget budget_;  ///< Outlives all that it counts, and the registry.
  struct {
    std::uint64_t runtimes = 0;
    std::uint64_t artifacts = 0;
  } listed_bytes_;               ///< The memory of the lists that all callers share.
  ReaderBudget reading_memory_;  ///< Outlives the readers.
  Readers readers_;
  Registry registry_;
  Discovery discovery_;
  MemoryGroups groups_;
  Dumps dumps_;
  Doctor doctor_;
  SuspendedRuntimes suspended_;
  HaltWatch halts_;
  MeterClaims meters_;  ///< Outlives the sessions that hold claims.
  std::optional<AppMetrics> app_metrics_;
  std::shared_ptr<Artifacts> artifacts_;  ///< Null if nothing is kept.
  std::vector<std::shared_ptr<Store>> stores_;
  std::optional<Recorder> recorder_;
  std::vector<std::unique_ptr<ConnectPort>> connect_ports_;
  TracingSessions tracing_;
  LiveConnections live_;
  Limits limits_;
  Metrics metrics_;
  transport::HandshakeLimiter handshakes_;
  transport::RateLimitedLog warnings_;
  RefusalLog refusals_;
  Admission admission_;
  DiagnosticConnections connections_;
  ResumptionTable resumption_;  ///< Its tasks, which use the parts below, are cleared by run().
  ApiParts api_;
  std::vector<std::unique_ptr<StoreSender>> senders_;
  std::optional<Rules> rules_;
  std::shared_ptr<transport::Share>
      unauthenticated_share_;  ///< The loop's time for all peers without a session.
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::time_t start_time_ = std::time(nullptr);
  AdminServer admin_;
  std::vector<Endpoint> endpoints_;
  std::unique_ptr<LocalSocket> local_socket_;
  std::vector<std::unique_ptr<MirrorDialler>> diallers_;
  std::size_t sessions_begun_ = 0;
  transport::Event session_began_;
  std::size_t last_asked_ = 0;  ///< The number of the session that had the last request.
  bool left_in_order_ = false;  ///< Whether the peer of that session ended it in order.
  int stops_ = 0;
  transport::Event stopped_;
  // Last, since their tasks use all the members above.
  transport::TaskSet tasks_;
  transport::TaskSet accepting_;
  transport::TaskSet serving_;
};

}  // namespace farport::router
