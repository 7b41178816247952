#include "router/agent.hpp"

#include <cerrno>

#include "auth/tls_context.hpp"
#include "base/resident_memory.hpp"
#include "ipc/error.hpp"
#include "router/http_status.hpp"

namespace farport::router {

using transport::IoStatus;
using transport::Task;
using transport::TlsStream;

namespace {

/// How long a raw peer may take to close after it has been told everything.
constexpr transport::Milliseconds kLinger{5000};
/// How long after the last connection memory is given back to the system.
constexpr transport::Milliseconds kUntilRest{2000};
constexpr std::size_t kLingerRead = 1024;
/// How long a runtime may take to stop a session, and a peer to hear that it is over.
constexpr transport::Milliseconds kStopLimit{6000};

/// Leaves closing to the peer: whoever closes first may cut off what the other hasn't read yet.
Task<void> linger(transport::Stream& stream) {
  const transport::Deadline limit(stream.loop(), kLinger, [&stream] {
    stream.abort(Error{"wait for", "the peer", "it does not close its side", {}, 0});
  });
  std::vector<std::byte> ignored(kLingerRead);
  for (IoStatus status = IoStatus::ok; status == IoStatus::ok;) {
    const transport::Io io = co_await stream.read(ignored);
    status = io.status;
  }
}

/// A diagnostic connection that is a TLS or TCP connection by itself.
class RawEnd final : public ToolEnd {
 public:
  explicit RawEnd(transport::Stream& stream) : stream_(stream) {}
  [[nodiscard]] transport::Stream& stream() override { return stream_; }
  void accept() override {}
  Task<void> refuse(Refusal refusal) override {
    const ipc::Bytes answer = ipc::encode_error(refusal.hresult);
    const IoStatus written = co_await stream_.write(answer);
    if (written == IoStatus::ok) std::ignore = co_await stream_.finish();
  }

 private:
  transport::Stream& stream_;
};

}  // namespace

Agent::Agent(transport::Loop& loop, Log log, AgentSettings settings, auth::TlsCredentialsPtr credentials,
             auth::Policy policy, std::unique_ptr<Audit> audit)
    : loop_(loop),
      log_(std::move(log)),
      settings_(std::move(settings)),
      credentials_(credentials == nullptr
                       ? nullptr
                       : std::make_unique<CredentialWatch>(loop, log_, std::move(credentials),
                                                           settings_.discovery.rescan)),
      policy_(std::move(policy)),
      audit_(std::move(audit)),
      registry_(loop),
      discovery_(loop, registry_, log_, settings_.discovery),
      dumps_(loop, log_, registry_, settings_.dump),
      suspended_(loop, registry_, log_, settings_.resume_after),
      resumption_(loop, log_, settings_.session.grace),
      tracing_(loop, log_, registry_),
      services_{loop,
                log_,
                policy_,
                registry_,
                suspended_,
                buffers_,
                *audit_,
                dumps_,
                resumption_,
                tracing_,
                settings_.first_message_limit,
                std::chrono::steady_clock::now()},
      stopped_(loop),
      tasks_(loop),
      accepting_(loop),
      serving_(loop) {}

Result<void> Agent::listen() {
  for (const std::string& path : settings_.dial_in) {
    auto port = DialInPort::create(loop_, registry_, log_, path);
    if (!port) return tl::unexpected(port.error());
    log_->info("runtimes may dial in at {}", path);
    dial_in_.push_back(std::move(*port));
  }
  for (const transport::Address& address : settings_.listen) {
    auto listener = transport::Listener::tcp(loop_, address);
    if (!listener) return tl::unexpected(listener.error());
    log_->info("listening on {} (mutual TLS)", (*listener)->name());
    listeners_.push_back(std::move(*listener));
  }
  if (!settings_.insecure_loopback) return {};
  auto listener = transport::Listener::tcp(loop_, *settings_.insecure_loopback);
  if (!listener) return tl::unexpected(listener.error());
  plain_listener_ = std::move(*listener);
  log_->warn("listening on {} without TLS: every process of this host may use it", plain_listener_->name());
  return {};
}

Task<void> Agent::run() {
  tasks_.spawn(discovery_.run());
  tasks_.spawn(dumps_.keep_clean());
  tasks_.spawn(suspended_.run());
  if (credentials_ != nullptr) tasks_.spawn(credentials_->run());
  for (const auto& port : dial_in_) tasks_.spawn(port->run());
  for (const auto& listener : listeners_) accepting_.spawn(accept(*listener, &Agent::serve_tls));
  if (plain_listener_ != nullptr) accepting_.spawn(accept(*plain_listener_, &Agent::serve_plain));
  co_await stopped_.wait();
  co_await drain();
  serving_.clear();
  resumption_.clear();
  tasks_.clear();
}

void Agent::stop() {
  ++stops_;
  stopped_.set();
}

Task<void> Agent::drain() {
  // The port is free for the next agent from here on.
  accepting_.clear();
  listeners_.clear();
  plain_listener_.reset();
  resumption_.end_waiting(Error{"go on with", "the connection", "the agent is being stopped", {}, ECANCELED});
  live_.drain();
  bool ended = co_await ended_within(settings_.drain_limit);
  if (ended) co_return;
  log_->info("stopping what still runs: {} connections", resumption_.size());
  tracing_.stop_all();
  ended = co_await ended_within(kStopLimit);
  if (ended) co_return;
  live_.end();
  std::ignore = co_await ended_within(kStopLimit);
}

Task<bool> Agent::ended_within(transport::Milliseconds limit) {
  if (stops_ > 1) co_return false;
  bool ended = false;
  Task<void> ending = [](Agent& agent, bool& done) -> Task<void> {
    co_await agent.resumption_.idle();
    co_await agent.serving_.idle();
    done = true;
    agent.stopped_.set();
  }(*this, ended);
  ending.start();
  const transport::Deadline deadline(loop_, limit, [this] { stopped_.set(); });
  if (!ended) co_await stopped_.wait();
  co_return ended;
}

Task<void> Agent::accept(transport::Listener& listener, Handler handler) {
  for (;;) {
    Accepted connection = co_await listener.accept();
    serving_.spawn(serve(handler, std::move(connection)));
  }
}

Task<void> Agent::serve(Handler handler, Accepted connection) {
  rest_.reset();
  ++open_connections_;
  co_await (this->*handler)(std::move(connection));
  if (--open_connections_ == 0) rest_.emplace(loop_, kUntilRest, release_idle_memory);
}

Task<void> Agent::serve_tls(Accepted connection) {
  Caller caller;
  caller.address = connection->name();
  auto tls =
      std::make_unique<TlsStream>(std::move(connection), credentials_->context(), TlsStream::Side::server);
  const Result<void> agreed = co_await shake_hands(*tls);
  if (!agreed) {
    log_->warn("refused {}: {}", caller.address, agreed.error().why);
    AuditEntry entry{"handshake", caller};
    entry.outcome = agreed.error().why;
    audit_->write(entry);
    co_return;
  }
  caller.identity = auth::identity_of(SSL_get0_peer_certificate(tls->ssl()));
  caller.access = policy_.access_of(*caller.identity);
  if (caller.access->none()) {
    log_->warn("refused {}: {}", caller.address, refusal(caller));
    AuditEntry entry{"session", caller};
    entry.outcome = refusal(caller);
    audit_->write(entry);
  }
  if (tls->alpn() == "h2") {
    co_await serve_session(std::move(tls), std::move(caller));
  } else {
    const char* name = SSL_get_servername(tls->ssl(), TLSEXT_NAMETYPE_host_name);
    std::string wanted = name == nullptr ? std::string() : std::string(name);
    std::function<void(const Error&)> end = [&tls](const Error& why) { tls->abort(why); };
    const VerifiedPeer peer(credentials_->peers(), tls->ssl(), std::move(end));
    co_await serve_raw(*tls, caller, std::move(wanted));
    if (peer.ended()) tell_of_distrust(caller, *peer.ended());
  }
}

Task<Result<void>> Agent::shake_hands(TlsStream& tls) {
  const transport::Deadline limit(loop_, settings_.handshake_limit, [&tls] {
    tls.abort(Error{"agree on TLS with", "the peer", "it did not finish the handshake in time", {}, 0});
  });
  Result<void> agreed = co_await tls.handshake();
  if (!agreed && !limit.expired()) {
    agreed.error().why = auth::describe_handshake_failure(tls.ssl(), tls.openssl_error());
  }
  co_return agreed;
}

Task<void> Agent::serve_session(std::unique_ptr<TlsStream> tls, Caller caller) {
  log_->info("session of {}", describe(caller));
  const auto api = std::make_shared<Api>(services_, caller);
  SSL* ssl = tls->ssl();
  transport::TaskSet requests(loop_);
  transport::Http2Session session(std::move(tls), transport::Http2Session::Role::server,
                                  settings_.session.limits(),
                                  [&](std::unique_ptr<transport::Http2Stream> request) {
                                    requests.spawn(api->handle(std::move(request)));
                                  });
  std::function<void(const Error&)> end = [&session](const Error& why) { session.abort(why); };
  const VerifiedPeer peer(credentials_->peers(), ssl, std::move(end));
  std::function<void()> drain = [&session] { session.drain(); };
  std::function<void()> leave = [&session] { session.leave(); };
  const LiveConnection live(live_, std::move(drain), std::move(leave));
  const Result<void> ended = co_await session.run();
  if (peer.ended()) {
    tell_of_distrust(caller, *peer.ended());
  } else {
    log_->info("session of {} ended: {}", describe(caller), ended.error().why);
  }
  // The requests' tasks use the session's streams, which have all failed by now: they end by themselves.
  co_await requests.idle();
}

Task<void> Agent::serve_plain(Accepted connection) {
  Caller caller;
  caller.address = connection->name();
  caller.access = policy_.loopback_access();
  co_await serve_raw(*connection, std::move(caller), {});
}

tl::expected<Runtime, Refusal> Agent::choose_raw(const Caller& caller, const std::string& wanted) const {
  if (caller.access->none()) {
    return tl::unexpected(no_role(caller));
  }
  const Registry::Filter visible = [&](const Runtime& runtime) { return caller.sees(runtime); };
  Result<Runtime> chosen = registry_.choose(wanted, visible);
  // A client may send the agent's own host name, whatever it is: with one runtime there is no doubt.
  if (!chosen && !wanted.empty() && registry_.all(visible).size() == 1)
    chosen = registry_.choose({}, visible);
  if (chosen) return *chosen;
  return tl::unexpected(Refusal{http_status::kNotFound, ipc::hresult::kFail, chosen.error().message()});
}

Task<void> Agent::serve_raw(transport::Stream& stream, Caller caller, std::string wanted) {
  RawEnd tool(stream);
  std::function<void()> end = [&stream] {
    stream.abort(Error{"go on with", "the connection", "the agent is being stopped", {}, ECANCELED});
  };
  const LiveConnection live(live_, {}, std::move(end));
  tl::expected<Runtime, Refusal> runtime = choose_raw(caller, wanted);
  co_await carry_diagnostic_connection(services_, std::move(caller), std::move(runtime), tool);
  co_await linger(stream);
}

void Agent::tell_of_distrust(const Caller& caller, const Error& why) {
  log_->warn("ended the session of {}: {}", describe(caller), why.why);
  AuditEntry entry{"session", caller};
  entry.outcome = why.why;
  audit_->write(entry);
}

void Agent::reload_certificates() {
  if (credentials_ != nullptr) credentials_->reload();
}

void Agent::reopen_audit() {
  const Result<void> opened = audit_->reopen();
  if (opened) {
    log_->info("the audit log has been opened again");
  } else {
    log_->error("{}; the old file stays in use", opened.error().message());
  }
}

}  // namespace farport::router
