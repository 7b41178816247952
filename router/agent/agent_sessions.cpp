// The agent's sessions: handshakes, refusals after them, HTTP/2 and raw connections.
#include <cerrno>
#include <functional>

#include <sys/socket.h>

#include "auth/tls_context.hpp"
#include "base/text.hpp"
#include "router/agent/agent.hpp"
#include "router/agent/connections/response.hpp"
#include "router/wire/http_status.hpp"
#include "router/wire/session_options.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

/// Notices a session that nobody uses. Calls `on_idle` once nothing has been in use for `limit`, and again
/// after another `limit` for as long as it returns false. A limit of 0 turns it off.
class IdleWatch final : private transport::Timer {
 public:
  IdleWatch(transport::Loop& loop, transport::Milliseconds limit, std::function<bool()> on_idle)
      : Timer(loop), limit_(limit), on_idle_(std::move(on_idle)) {
    rest();
  }
  ~IdleWatch() = default;

  /// Marks the session as used for as long as it exists. Must not outlive the IdleWatch.
  class Use {
   public:
    explicit Use(IdleWatch& watch) : watch_(watch) {
      if (watch_.uses_++ == 0) watch_.stop();
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() {
      if (--watch_.uses_ == 0) watch_.rest();
    }

   private:
    IdleWatch& watch_;
  };

 private:
  void rest() {
    if (limit_.count() > 0) start(limit_);
  }
  void on_time() override {
    if (!on_idle_()) rest();
  }

  transport::Milliseconds limit_;
  std::function<bool()> on_idle_;
  std::size_t uses_ = 0;
};

}  // namespace

using auth::limit_of;
using auth::LimitSettings;
using transport::Task;
using transport::TlsStream;

namespace {

/// Streams that a session may have besides diagnostic connections: lists, watches, progress. They also let a
/// connection beyond the limit come through and be refused, since a client that may open no more streams just
/// waits.
constexpr std::uint32_t kOtherStreams = 64;

/// Lets the session end after `what`, which is that nobody in it follows the artifacts, and notes that in
/// `drained`.
Task<void> drain_after(Task<void> what, transport::Http2Session& session, bool& drained) {
  co_await std::move(what);
  drained = true;
  session.drain();
}

/// Answers a request, and marks the session as used meanwhile.
Task<void> answer(Api& api, IdleWatch& idle, std::unique_ptr<transport::Http2Stream> request) {
  const IdleWatch::Use use(idle);
  co_await api.handle(std::move(request));
}

Refusal is_stopping() {
  return {http_status::kUnavailable, ipc::hresult::kBusy, "the agent is being stopped"};
}

/// Waits for a peer's first byte, and leaves it unread. Returns false if the connection ends or fails first.
Task<bool> says_something(transport::FdStream& socket) {
  for (;;) {
    co_await socket.readable();
    std::byte first{};
    const ssize_t got = ::recv(socket.fd(), &first, sizeof first, MSG_PEEK | MSG_DONTWAIT);
    if (got >= 0 || errno != EAGAIN) co_return got > 0;
    // The socket was readable for the sake of a proxy's answer, which has been read already.
    socket.found_nothing();
  }
}

constexpr const char* kTooSlow = "it did not finish the handshake in time";
constexpr const char* kTooManyHandshakes = "the agent has reached its limit of concurrent handshakes";

}  // namespace

Task<void> Agent::serve_tls(Accepted connection) {
  return serve_secured(std::move(connection), false);
}

Task<void> Agent::serve_dialled(Accepted connection) {
  return serve_secured(std::move(connection), true);
}

Task<void> Agent::serve_secured(Accepted connection, bool dialled) {
  Caller caller;
  caller.address = connection->name();
  transport::FdStream& socket = *connection;
  std::function<void()> make_room = [&socket] {
    socket.abort(
        Error{"complete the TLS handshake with", "the peer", kTooManyHandshakes, {}, Cause(ENOBUFS)});
  };
  std::optional<transport::HandshakeLimiter::Entry> handshake(std::in_place, handshakes_, caller.address,
                                                              std::move(make_room));
  auto tls = co_await shake_hands(std::move(connection), caller, *handshake);
  if (tls == nullptr) co_return;
  if (dialled) {
    const std::string greeting = dialled_greeting(resumption_.instance());
    std::ignore = co_await tls->write(std::as_bytes(std::span(greeting)));
  }
  caller.identity = auth::identity_of(SSL_get0_peer_certificate(tls->ssl()));
  caller.access = policy_.access_of(*caller.identity);
  auto share = limits_.begin_session(identity_key(caller));
  // Refused callers keep their place among the handshakes, so that there are never many of them.
  if (!share) {
    co_await refuse_caller(std::move(tls), caller, refusals_.limit_reached(caller, share.error()));
  } else if (caller.access->none()) {
    ++metrics_.sessions;
    co_await refuse_caller(std::move(tls), caller, refusals_.no_role(caller));
  } else if (takes_no_session_of(caller)) {
    co_await refuse_caller(std::move(tls), caller, is_stopping());
  } else {
    handshake.reset();
    co_await serve_caller(std::move(tls), std::move(caller), std::move(*share));
  }
}

/// An agent that stops listens only for those who followed the artifacts and were cut off.
bool Agent::takes_no_session_of(const Caller& caller) {
  return stops_ > 0 && !api_.artifacts.followers().lack(caller);
}

/// The connection after a successful handshake. Returns nullptr after a failed one, which has been logged and
/// counted.
Task<std::unique_ptr<TlsStream>> Agent::shake_hands(Accepted connection, const Caller& caller,
                                                    const transport::HandshakeLimiter::Entry& entry) {
  transport::FdStream& socket = *connection;
  const transport::Deadline limit(loop_, settings_.limits.handshake_timeout, [&socket] {
    socket.abort(Error{"complete the TLS handshake with", "the peer", kTooSlow});
  });
  // Make no TLS state before the peer speaks: a silent peer costs no more than its socket.
  const bool speaks = co_await says_something(socket);
  std::unique_ptr<TlsStream> tls;
  if (speaks) {
    tls =
        std::make_unique<TlsStream>(std::move(connection), credentials_->context(), TlsStream::Side::server);
    const Result<void> agreed = co_await tls->handshake(*unauthenticated_share_);
    if (agreed) co_return tls;
  }
  if (entry.ended()) {
    const LimitExceeded exceeded{&limit_of(&LimitSettings::handshakes), kTooManyHandshakes};
    std::ignore = refusals_.limit_reached(caller, exceeded);
  } else if (limit.expired()) {
    metrics_.refused.add(limit_of(&LimitSettings::handshake_timeout).name());
    refusals_.handshake_failed(caller, kTooSlow, "timeout");
  } else if (!speaks) {
    // Load balancers and orchestrators probe the port like this: nothing is wrong.
    metrics_.handshakes_failed.add("probe");
    log_->debug("{} connected and closed again", caller.address);
  } else {
    refusals_.handshake_failed(caller, auth::describe_handshake_failure(tls->ssl(), tls->openssl_error()),
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
      const LimitExceeded exceeded{&limit_of(&LimitSettings::session_lifetime),
                                   "it has reached the maximum age of a session"};
      refusals_.ended(caller, exceeded);
      stream.abort(Error{"continue", "the session", exceeded.message, {}, Cause(ETIMEDOUT)});
    };
    life.emplace(loop_, settings_.limits.session_lifetime, std::move(end));
  }
  if (stream.alpn() == "h2") {
    SSL* const ssl = tls->ssl();
    co_await serve_session(std::move(tls), ssl, caller, std::move(share));
  } else {
    const char* name = SSL_get_servername(stream.ssl(), TLSEXT_NAMETYPE_host_name);
    std::string wanted = name == nullptr ? std::string() : std::string(name);
    std::function<void(const Error&)> end = [&stream](const Error& why) { stream.abort(why); };
    const VerifiedPeer peer(credentials_->peers(), stream.ssl(), std::move(end));
    co_await serve_raw(stream, caller, std::move(share), std::move(wanted));
    if (peer.ended()) refusals_.distrusted(caller, *peer.ended());
  }
}

Task<void> Agent::refuse_caller(std::unique_ptr<TlsStream> tls, const Caller& caller, Refusal refusal) {
  if (tls->alpn() == "h2" && (caller.access->none() || takes_no_session_of(caller))) {
    co_await turn_away(std::move(tls), turned_away(), std::move(refusal.why));
  } else if (tls->alpn() == "h2") {
    co_await refuse_session(std::move(tls), stranger(caller), std::move(refusal));
  } else {
    RawEndpoint tool(*tls);
    co_await tool.refuse(std::move(refusal));
    co_await linger(*tls);
  }
}

/// The party of a caller that is refused a session. All of them share the loop's time; each identity has an
/// account.
transport::Party Agent::stranger(const Caller& caller) {
  return {unauthenticated_share_, budget_.account_of(identity_key(caller))};
}

/// The party of callers without a role. They share one account as well.
transport::Party Agent::turned_away() {
  return {unauthenticated_share_, budget_.account_of("turned away")};
}

transport::Http2Limits Agent::http2_limits() const {
  transport::Http2Limits limits = settings_.session.limits();
  limits.streams = static_cast<std::uint32_t>(settings_.limits.connections_per_session) + kOtherStreams;
  limits.head_bytes = static_cast<std::uint32_t>(settings_.limits.head_size);
  return limits;
}

Task<void> Agent::serve_session(std::unique_ptr<transport::Stream> connection, SSL* ssl, Caller caller,
                                std::unique_ptr<Limits::Session> share) {
  log_->info("session of {}", caller);
  const transport::RecordedTime recorded(metrics_.session_times);
  const std::size_t number = sessions_begun_;
  transport::Http2Limits limits = http2_limits();
  transport::Party party(share->share(), budget_.account_of(identity_key(caller)));
  limits.end_is_break = ssl == nullptr;
  const auto api = std::make_shared<Api>(api_, std::move(share), caller);
  transport::Http2Session* used = nullptr;
  IdleWatch idle(loop_, settings_.limits.idle_timeout, [&] {
    // A resumed answer uses the session without an IdleWatch::Use.
    if (used->busy()) return false;
    const LimitExceeded exceeded{&limit_of(&LimitSettings::idle_timeout), "nobody uses it"};
    refusals_.ended(caller, exceeded);
    used->leave();
    return true;
  });
  transport::TaskSet requests(loop_);
  transport::Http2Session session(std::move(connection), transport::Http2Session::Role::server,
                                  std::move(party), limits,
                                  [&](std::unique_ptr<transport::Http2Stream> request) {
                                    last_asked_ = number;
                                    requests.spawn(answer(*api, idle, std::move(request)));
                                  });
  used = &session;
  std::function<void(const Error&)> end = [&session](const Error& why) { end_distrusted(session, why); };
  std::optional<VerifiedPeer> peer;
  if (ssl != nullptr) peer.emplace(credentials_->peers(), ssl, std::move(end));
  // Who follows the artifacts gets what is there, which takes further requests.
  bool drained = false;
  std::function<void()> drain = [&] { requests.spawn(drain_after(api->unwatched(), session, drained)); };
  std::function<void()> stop = [&session] {
    session.abort(Error{"continue", "the session", "the agent is being stopped", {}, Cause(ECANCELED)});
  };
  const LiveConnection live(live_, std::move(drain), std::move(stop));
  transport::TaskSet draining(loop_);
  // One who was cut off, and comes back while the agent stops.
  if (stops_ > 0) draining.spawn(drain_after(api->followed(), session, drained));
  const Result<void> ended = co_await session.run();
  // A session that a break has left behind may end after its successor: only the one last asked counts.
  if (number == last_asked_) left_in_order_ = session.peer_left();
  const bool is_cut_off = api->has_followed() && !drained && !session.peer_left() && !(peer && peer->ended());
  if (peer && peer->ended()) {
    refusals_.distrusted(caller, *peer->ended());
  } else {
    log_->info("session of {} ended: {}", caller, ended.error().why);
  }
  // The requests' tasks use the session's streams, which have all failed by now: they end by themselves.
  co_await requests.idle();
  if (is_cut_off) api_.artifacts.followers().cut_off(caller);
}

Task<void> Agent::serve_local(Accepted connection) {
  Caller caller;
  caller.address = "stdio";
  const auto user = transport::peer_credentials(*connection);
  if (!user) {
    log_->warn("{}", user.error().message());
    co_return;
  }
  caller.identity = auth::identity_of(user->uid);
  caller.access = policy_.access_of(*caller.identity);
  transport::FdStream& socket = *connection;
  std::function<void()> make_room = [&socket] {
    socket.abort(Error{"begin a session with", "a local user", kTooManyHandshakes, {}, Cause(ENOBUFS)});
  };
  // Refused callers only count as handshakes, as with TLS.
  std::optional<transport::HandshakeLimiter::Entry> handshake(std::in_place, handshakes_,
                                                              identity_key(caller), std::move(make_room));
  ++metrics_.sessions;
  if (caller.access->none()) {
    co_await turn_away(std::move(connection), turned_away(), refusals_.no_role(caller).why);
    co_return;
  }
  auto share = limits_.begin_session(identity_key(caller));
  if (!share) {
    co_await refuse_session(std::move(connection), stranger(caller),
                            refusals_.limit_reached(caller, share.error()));
  } else if (takes_no_session_of(caller)) {
    co_await turn_away(std::move(connection), stranger(caller), is_stopping().why);
  } else {
    co_await discovery_.first_look();
    handshake.reset();
    co_await serve_session(std::move(connection), nullptr, std::move(caller), std::move(*share));
  }
}

Task<void> Agent::serve_plain(Accepted connection) {
  Caller caller;
  caller.address = connection->name();
  caller.access = policy_.loopback_access();
  auto share = limits_.begin_session(identity_key(caller));
  if (!share) {
    RawEndpoint tool(*connection);
    co_await tool.refuse(refusals_.limit_reached(caller, share.error()));
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
  // Clients send the name or address by which they reach the agent: that asks for the only runtime. (SNI must
  // not hold an address by RFC 6066 section 3, but some send the one that they dial.) Any other name is a
  // runtime's, even after that runtime has ended: its commands must not reach another one.
  const bool is_agents =
      credentials_ != nullptr && (is_ip_address(wanted) || credentials_->current().has_name(wanted));
  if (!chosen && is_agents) chosen = registry_.choose({}, visible);
  if (chosen) return std::make_shared<const Runtime>(std::move(*chosen));
  return tl::unexpected(Refusal{http_status::kNotFound, ipc::hresult::kFail, chosen.error().message()});
}

Task<void> Agent::serve_raw(transport::Stream& stream, Caller caller, std::unique_ptr<Limits::Session> share,
                            std::string wanted) {
  const transport::RecordedTime recorded(metrics_.session_times);
  RawEndpoint tool(stream);
  std::function<void()> end = [&stream] {
    stream.abort(Error{"continue", "the connection", "the agent is being stopped", {}, Cause(ECANCELED)});
  };
  const LiveConnection live(live_, {}, std::move(end));
  auto exceeded = share->count_request();
  auto place = share->begin_connection();
  if (!exceeded && !place) exceeded = place.error();
  if (exceeded) {
    co_await tool.refuse(refusals_.limit_reached(caller, *exceeded));
  } else {
    tl::expected<RuntimePtr, Refusal> runtime = choose_raw(caller, wanted);
    co_await connections_.carry(caller, std::move(runtime), tool);
  }
  co_await linger(stream);
}

}  // namespace farport::router
