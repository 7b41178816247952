#include "router/agent/agent.hpp"

#include <array>
#include <cerrno>

#include <arpa/inet.h>
#include <sys/socket.h>

#include "auth/tls_context.hpp"
#include "base/resident_memory.hpp"
#include "ipc/error.hpp"
#include "router/agent/connections/raw_end.hpp"
#include "router/agent/connections/refused.hpp"
#include "router/agent/credential_metrics.hpp"
#include "router/wire/http_status.hpp"

namespace farport::router {

using transport::Task;
using transport::TlsStream;

namespace {

/// How long after the last connection memory is given back to the system.
constexpr transport::Milliseconds kUntilRest{2000};
/// How long a runtime may take to stop a session, and a peer to hear that it is over.
constexpr transport::Milliseconds kStopLimit{4000};
/// Of the loop, in one of its turns: for the handshakes of all peers, and for those who are refused.
constexpr std::chrono::milliseconds kStrangersShare{1};
/// Streams beside diagnostic connections: lists, watches, progress. One too many of the former has to come
/// through in order to be refused: a client that may open no more streams just waits.
constexpr std::uint32_t kOtherStreams = 64;

/// Answers a request, and says meanwhile that its session is in use.
Task<void> answer(Api& api, IdleWatch& idle, std::unique_ptr<transport::Http2Stream> request) {
  const IdleWatch::Use use(idle);
  co_await api.handle(std::move(request));
}

/// Which no name in SNI may be (RFC 6066 section 3), but some clients send what they dial all the same.
bool is_ip_address(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
}

/// Whether a socket that is readable has come to its end, or failed, before it has said a byte.
bool says_nothing(const transport::FdStream& socket) {
  std::byte first{};
  return ::recv(socket.fd(), &first, sizeof first, MSG_PEEK | MSG_DONTWAIT) <= 0;
}

constexpr const char* kTooSlow = "it did not finish the handshake in time";
constexpr const char* kTooManyHandshakes = "the agent has as many handshakes under way as it takes";

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
      registry_(loop, settings_.host_name),
      discovery_(loop, registry_, log_, settings_.discovery),
      dumps_(loop, log_, registry_, settings_.dump),
      suspended_(loop, registry_, log_, settings_.resume_after),
      budget_(settings_.limits.buffered_bytes),
      resumption_(loop, log_, settings_.session.grace, budget_),
      tracing_(loop, log_, registry_),
      limits_(loop, settings_.limits),
      handshakes_(settings_.limits.handshakes),
      warnings_(loop, log_),
      services_{loop,
                log_,
                policy_,
                registry_,
                discovery_,
                suspended_,
                buffers_,
                *audit_,
                dumps_,
                resumption_,
                tracing_,
                limits_,
                metrics_,
                handshakes_,
                budget_,
                std::make_shared<transport::Share>(loop, kStrangersShare),
                warnings_,
                settings_.session.compression,
                std::chrono::steady_clock::now()},
      stopped_(loop),
      tasks_(loop),
      accepting_(loop),
      serving_(loop) {
  metrics_.sources.emplace_back([this](MetricsText& text) { discovery_.write_metrics(text); });
  if (credentials_ == nullptr) return;
  metrics_.sources.emplace_back([this](MetricsText& text) { write_metrics(text, *credentials_); });
}

Result<void> Agent::listen() {
  for (const std::string& path : settings_.dial_in) {
    auto port = DialInPort::create(loop_, registry_, log_, path);
    if (!port) return tl::unexpected(port.error());
    log_->info("runtimes may dial in at {}", path);
    dial_in_.push_back(std::move(*port));
  }
  for (const transport::Address& address : settings_.listen) {
    auto listener = transport::Listener::tcp(loop_, address, settings_.reuse_port);
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
  // Once, whoever has connected by then: starting took much that is not needed again.
  const transport::Deadline settled(loop_, kUntilRest, release_idle_memory);
  co_await stopped_.wait();
  co_await drain();
  serving_.clear();
  resumption_.clear();
  co_await dumps_.settled();
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
  if (resumption_.size() > 0) {
    log_->info("draining: {} connections may end by themselves for {} s", resumption_.size(),
               std::chrono::duration<double>(settings_.drain_limit).count());
  }
  bool ended = co_await ended_within(settings_.drain_limit);
  if (ended) co_return;
  if (tracing_.running()) {
    log_->info("stopping the sessions that still run");
    tracing_.stop_all();
    ended = co_await ended_within(kStopLimit);
    if (ended) co_return;
  }
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
  listener.on_shortage([this](const Error& why) { note_pause(why); });
  for (;;) {
    Accepted connection = co_await listener.accept();
    serving_.spawn(serve(handler, std::move(connection)));
    // What is ended to make room for this one has gone before the next one comes.
    co_await transport::next_turn(loop_);
  }
}

Task<void> Agent::serve(Handler handler, Accepted connection) {
  ++open_connections_;
  co_await (this->*handler)(std::move(connection));
  --open_connections_;
  if (rest_ && !rest_->expired()) co_return;
  rest_.emplace(loop_, kUntilRest, [this] {
    // While others go on, only what they have left unused.
    open_connections_ == 0 ? release_idle_memory() : return_free_memory();
  });
}

void Agent::note_pause(const Error& why) {
  ++metrics_.accept_pauses;
  warnings_.add("accept", why.message());
}

Task<void> Agent::serve_tls(Accepted connection) {
  Caller caller;
  caller.address = connection->name();
  transport::FdStream& socket = *connection;
  std::function<void()> make_room = [&socket] {
    socket.abort(Error{"agree on TLS with", "the peer", kTooManyHandshakes, {}, ENOBUFS});
  };
  std::optional<Handshakes::Entry> handshake(std::in_place, handshakes_, caller.address,
                                             std::move(make_room));
  auto tls = co_await shake_hands(std::move(connection), caller, *handshake);
  if (tls == nullptr) co_return;
  caller.identity = auth::identity_of(SSL_get0_peer_certificate(tls->ssl()));
  caller.access = policy_.access_of(*caller.identity);
  auto share = limits_.begin_session(key_of(caller));
  // Those who are refused still count as handshakes, so that there are never many of them.
  if (!share) {
    co_await refuse_caller(std::move(tls), caller, note_exceeded(services_, caller, share.error()));
  } else if (caller.access->none()) {
    ++metrics_.sessions;
    co_await refuse_caller(std::move(tls), caller, note_no_role(services_, caller));
  } else {
    handshake.reset();
    co_await serve_caller(std::move(tls), std::move(caller), std::move(*share));
  }
}

/// The connection once both sides have agreed on TLS; nullptr where they have not, which has been noted.
Task<std::unique_ptr<TlsStream>> Agent::shake_hands(Accepted connection, const Caller& caller,
                                                    const Handshakes::Entry& entry) {
  transport::FdStream& socket = *connection;
  const transport::Deadline limit(loop_, settings_.limits.handshake, [&socket] {
    socket.abort(Error{"agree on TLS with", "the peer", kTooSlow, {}, 0});
  });
  // A peer that says nothing costs no more than its socket.
  co_await socket.readable();
  const bool silent = says_nothing(socket);
  std::unique_ptr<TlsStream> tls;
  if (!silent) {
    tls =
        std::make_unique<TlsStream>(std::move(connection), credentials_->context(), TlsStream::Side::server);
    const Result<void> agreed = co_await tls->handshake(services_.strangers.get());
    if (agreed) co_return tls;
  }
  if (entry.ended()) {
    const Exceeded exceeded{"handshakes", kTooManyHandshakes};
    std::ignore = note_exceeded(services_, caller, exceeded);
  } else if (limit.expired()) {
    metrics_.refused.add("handshake_timeout");
    note_failed_handshake(services_, caller, kTooSlow, "timeout");
  } else if (silent) {
    // A probe, as load balancers and orchestrators make them: nothing is wrong.
    metrics_.handshakes_failed.add("probe");
    log_->debug("{} connected and closed again", caller.address);
  } else {
    note_failed_handshake(services_, caller,
                          auth::describe_handshake_failure(tls->ssl(), tls->openssl_error()),
                          auth::kind_of_handshake_failure(tls->openssl_error()));
  }
  co_return nullptr;
}

Task<void> Agent::serve_caller(std::unique_ptr<TlsStream> tls, Caller caller,
                               std::unique_ptr<Limits::Session> share) {
  ++metrics_.sessions;
  TlsStream& stream = *tls;
  std::optional<transport::Deadline> life;
  if (settings_.limits.session_lifetime.count() > 0) {
    std::function<void()> end = [this, &stream, &caller] {
      const Exceeded exceeded{"session_lifetime", "it has lasted as long as one may"};
      note_ended(services_, caller, exceeded);
      stream.abort(Error{"go on with", "the session", exceeded.message, {}, ETIMEDOUT});
    };
    life.emplace(loop_, settings_.limits.session_lifetime, std::move(end));
  }
  if (stream.alpn() == "h2") {
    co_await serve_session(std::move(tls), caller, std::move(share));
  } else {
    const char* name = SSL_get_servername(stream.ssl(), TLSEXT_NAMETYPE_host_name);
    std::string wanted = name == nullptr ? std::string() : std::string(name);
    std::function<void(const Error&)> end = [&stream](const Error& why) { stream.abort(why); };
    const VerifiedPeer peer(credentials_->peers(), stream.ssl(), std::move(end));
    co_await serve_raw(stream, caller, std::move(share), std::move(wanted));
    if (peer.ended()) tell_of_distrust(caller, *peer.ended());
  }
}

Task<void> Agent::refuse_caller(std::unique_ptr<TlsStream> tls, const Caller& caller, Refusal refusal) {
  if (tls->alpn() == "h2" && caller.access->none()) {
    co_await turn_away(services_, std::move(tls), std::move(refusal.why));
  } else if (tls->alpn() == "h2") {
    co_await refuse_session(services_, std::move(tls), caller, std::move(refusal));
  } else {
    RawEnd tool(*tls);
    co_await tool.refuse(std::move(refusal));
    co_await linger(*tls);
  }
}

transport::Http2Limits Agent::http2_limits(const Caller& caller, const Limits::Session& share) {
  transport::Http2Limits limits = settings_.session.limits();
  limits.streams = static_cast<std::uint32_t>(settings_.limits.connections_per_session) + kOtherStreams;
  limits.head_bytes = static_cast<std::uint32_t>(settings_.limits.head_bytes);
  limits.account = budget_.account_of(key_of(caller));
  limits.share = share.share();
  return limits;
}

Task<void> Agent::serve_session(std::unique_ptr<TlsStream> tls, Caller caller,
                                std::unique_ptr<Limits::Session> share) {
  log_->info("session of {}", caller);
  SSL* ssl = tls->ssl();
  const transport::Http2Limits limits = http2_limits(caller, *share);
  const auto api = std::make_shared<Api>(services_, std::move(share), caller);
  transport::Http2Session* used = nullptr;
  IdleWatch idle(loop_, settings_.limits.idle, [&] {
    // Answers that outlive their session use it too.
    if (used->busy()) return false;
    const Exceeded exceeded{"idle_timeout", "nobody uses it"};
    note_ended(services_, caller, exceeded);
    used->leave();
    return true;
  });
  transport::TaskSet requests(loop_);
  transport::Http2Session session(std::move(tls), transport::Http2Session::Role::server, limits,
                                  [&](std::unique_ptr<transport::Http2Stream> request) {
                                    requests.spawn(answer(*api, idle, std::move(request)));
                                  });
  used = &session;
  std::function<void(const Error&)> end = [&session](const Error& why) { end_distrusted(session, why); };
  const VerifiedPeer peer(credentials_->peers(), ssl, std::move(end));
  std::function<void()> drain = [&session] { session.drain(); };
  std::function<void()> stop = [&session] {
    session.abort(Error{"go on with", "the session", "the agent is being stopped", {}, ECANCELED});
  };
  const LiveConnection live(live_, std::move(drain), std::move(stop));
  const Result<void> ended = co_await session.run();
  if (peer.ended()) {
    tell_of_distrust(caller, *peer.ended());
  } else {
    log_->info("session of {} ended: {}", caller, ended.error().why);
  }
  // The requests' tasks use the session's streams, which have all failed by now: they end by themselves.
  co_await requests.idle();
}

Task<void> Agent::serve_plain(Accepted connection) {
  Caller caller;
  caller.address = connection->name();
  caller.access = policy_.loopback_access();
  auto share = limits_.begin_session(key_of(caller));
  if (!share) {
    RawEnd tool(*connection);
    co_await tool.refuse(note_exceeded(services_, caller, share.error()));
    co_return;
  }
  ++metrics_.sessions;
  co_await serve_raw(*connection, std::move(caller), std::move(*share), {});
}

tl::expected<RuntimePtr, Refusal> Agent::choose_raw(const Caller& caller, const std::string& wanted) const {
  if (caller.access->none()) {
    return tl::unexpected(no_role(caller));
  }
  const Registry::Filter visible = [&](const Runtime& runtime) { return caller.sees(runtime); };
  Result<Runtime> chosen = registry_.choose(wanted, visible);
  // A client sends the name or address under which it reaches the agent: that asks for the only runtime. Any
  // other name is a runtime's, also when that runtime has ended: its commands must not reach another one.
  const bool is_agents =
      credentials_ != nullptr && (is_ip_address(wanted) || credentials_->current().has_name(wanted));
  if (!chosen && is_agents) chosen = registry_.choose({}, visible);
  if (chosen) return std::make_shared<const Runtime>(std::move(*chosen));
  return tl::unexpected(Refusal{http_status::kNotFound, ipc::hresult::kFail, chosen.error().message()});
}

Task<void> Agent::serve_raw(transport::Stream& stream, Caller caller, std::unique_ptr<Limits::Session> share,
                            std::string wanted) {
  RawEnd tool(stream);
  std::function<void()> end = [&stream] {
    stream.abort(Error{"go on with", "the connection", "the agent is being stopped", {}, ECANCELED});
  };
  const LiveConnection live(live_, {}, std::move(end));
  auto exceeded = share->count_request();
  auto place = share->begin_connection();
  if (!exceeded && !place) exceeded = place.error();
  if (exceeded) {
    co_await tool.refuse(note_exceeded(services_, caller, *exceeded));
  } else {
    tl::expected<RuntimePtr, Refusal> runtime = choose_raw(caller, wanted);
    co_await carry_diagnostic_connection(services_, caller, std::move(runtime), tool);
  }
  co_await linger(stream);
}

void Agent::tell_of_distrust(const Caller& caller, const Error& why) {
  log_->warn("ended the session of {}: {}", caller, why.why);
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
