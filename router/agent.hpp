// The agent: `farport serve`. Accepts sessions beside the runtimes and carries diagnostic connections to
// them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "auth/openssl.hpp"
#include "auth/policy.hpp"
#include "router/api.hpp"
#include "router/dial_in_port.hpp"
#include "router/discovery.hpp"
#include "router/idle_watch.hpp"
#include "transport/task_set.hpp"
#include "transport/timer.hpp"
#include "transport/tls_stream.hpp"

namespace farport::router {

struct AgentSettings {
  std::vector<transport::Address> listen;               ///< TLS.
  std::optional<transport::Address> insecure_loopback;  ///< Plain TCP; must be a loopback address.
  DiscoverySettings discovery;
  DumpSettings dump;
  std::vector<std::string> dial_in;  ///< Paths of sockets for runtimes to dial.
  std::optional<transport::Milliseconds> resume_after;
  LimitSettings limits;
};

class Agent {
 public:
  /// `context` may be null where only the insecure loopback listener is asked for.
  Agent(transport::Loop& loop, Log log, AgentSettings settings, auth::SslCtxPtr context, auth::Policy policy,
        std::unique_ptr<Audit> audit);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  /// Opens the listening sockets. Errors name the address or the path.
  Result<void> listen();
  /// Serves until stop() is called.
  transport::Task<void> run();
  void stop() { stopped_.set(); }
  /// For whoever rotates logs.
  void reopen_audit();

 private:
  using Accepted = std::unique_ptr<transport::FdStream>;
  using Handler = transport::Task<void> (Agent::*)(Accepted);

  transport::Task<void> accept(transport::Listener& listener, Handler handler);
  transport::Task<void> serve(Handler handler, Accepted connection);
  transport::Task<void> serve_tls(Accepted connection);
  transport::Task<void> serve_plain(Accepted connection);
  transport::Task<void> serve_caller(std::unique_ptr<transport::TlsStream> tls, Caller caller,
                                     std::unique_ptr<Limits::Session> share);
  transport::Task<void> refuse_caller(std::unique_ptr<transport::TlsStream> tls, Refusal refusal);
  transport::Task<void> serve_session(std::unique_ptr<transport::TlsStream> tls, Caller caller,
                                      std::unique_ptr<Limits::Session> share);
  transport::Task<void> serve_raw(transport::Stream& stream, Caller caller,
                                  std::unique_ptr<Limits::Session> share, std::string wanted);
  [[nodiscard]] transport::Http2Limits http2_limits();
  void note_pause(const Error& why);
  transport::Task<Result<void>> shake_hands(transport::TlsStream& tls, const Caller& caller,
                                            const Handshakes::Entry& entry);
  [[nodiscard]] tl::expected<Runtime, Refusal> choose_raw(const Caller& caller,
                                                          const std::string& wanted) const;

  transport::Loop& loop_;
  Log log_;
  AgentSettings settings_;
  auth::SslCtxPtr context_;
  auth::Policy policy_;
  std::unique_ptr<Audit> audit_;
  Registry registry_;
  Discovery discovery_;
  Dumps dumps_;
  SuspendedRuntimes suspended_;
  std::vector<std::unique_ptr<DialInPort>> dial_in_;
  BufferPool buffers_;
  Limits limits_;
  Metrics metrics_;
  Handshakes handshakes_;
  transport::BufferBudget budget_;
  Complaints complaints_;
  AgentServices services_;
  std::vector<std::unique_ptr<transport::Listener>> listeners_;
  std::unique_ptr<transport::Listener> plain_listener_;
  std::size_t open_connections_ = 0;
  std::optional<transport::Deadline> rest_;  ///< When the last connection was a while ago.
  transport::Event stopped_;
  transport::TaskSet tasks_;  ///< Last: its tasks use all the rest.
};

}  // namespace farport::router
