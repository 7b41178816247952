#include "router/agent.hpp"

#include <cerrno>

#include "auth/tls_context.hpp"
#include "ipc/error.hpp"
#include "router/relay.hpp"
#include "transport/timer.hpp"

namespace farport::router {

using transport::IoStatus;
using transport::Task;
using transport::TlsStream;

namespace {

/// How long a raw peer may take to close after it has been told everything.
constexpr transport::Milliseconds kLinger{5000};
constexpr std::size_t kLingerRead = 1024;

}  // namespace

Agent::Agent(transport::Loop& loop, Log log, AgentSettings settings, auth::SslCtxPtr context,
             auth::AllowList allowed)
    : loop_(loop),
      log_(std::move(log)),
      settings_(std::move(settings)),
      context_(std::move(context)),
      allowed_(std::move(allowed)),
      registry_(loop),
      discovery_(loop, registry_, log_, settings_.discovery),
      suspended_(loop, registry_, log_, settings_.resume_after),
      services_{loop,
                log_,
                registry_,
                suspended_,
                buffers_,
                settings_.first_message_limit,
                std::chrono::steady_clock::now()},
      stopped_(loop),
      tasks_(loop) {}

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
  tasks_.spawn(suspended_.run());
  for (const auto& port : dial_in_) tasks_.spawn(port->run());
  for (const auto& listener : listeners_) tasks_.spawn(accept(*listener, &Agent::serve_tls));
  if (plain_listener_ != nullptr) tasks_.spawn(accept(*plain_listener_, &Agent::serve_plain));
  co_await stopped_.wait();
  tasks_.clear();
}

Task<void> Agent::accept(transport::Listener& listener, Handler handler) {
  for (;;) {
    Accepted connection = co_await listener.accept();
    tasks_.spawn((this->*handler)(std::move(connection)));
  }
}

Task<void> Agent::serve_tls(Accepted connection) {
  Caller caller;
  caller.address = connection->name();
  auto tls = std::make_unique<TlsStream>(std::move(connection), context_.get(), TlsStream::Side::server);
  const Result<void> agreed = co_await shake_hands(*tls);
  if (!agreed) {
    log_->warn("refused {}: {}", caller.address, agreed.error().why);
    co_return;
  }
  caller.identity = auth::identity_of(SSL_get0_peer_certificate(tls->ssl()));
  caller.rule = allowed_.match(*caller.identity);
  if (tls->alpn() == "h2") {
    if (!caller.rule) log_->warn("refused {}: {}", caller.address, refusal(caller));
    co_await serve_session(std::move(tls), std::move(caller));
  } else {
    const char* name = SSL_get_servername(tls->ssl(), TLSEXT_NAMETYPE_host_name);
    std::string wanted = name == nullptr ? std::string() : std::string(name);
    co_await serve_raw(*tls, std::move(caller), std::move(wanted));
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
  Api api(services_, caller);
  transport::TaskSet requests(loop_);
  transport::Http2Session session(std::move(tls), transport::Http2Session::Role::server,
                                  transport::Http2Limits{},
                                  [&](std::unique_ptr<transport::Http2Stream> request) {
                                    requests.spawn(api.handle(std::move(request)));
                                  });
  const Result<void> ended = co_await session.run();
  log_->info("session of {} ended: {}", describe(caller), ended.error().why);
  // The requests' tasks use the session's streams, which have all failed by now: they end by themselves.
  co_await requests.idle();
}

Task<void> Agent::serve_plain(Accepted connection) {
  Caller caller;
  caller.address = connection->name();
  caller.rule = "insecure-loopback";
  co_await serve_raw(*connection, std::move(caller), {});
}

Result<Runtime> Agent::choose_raw(const std::string& wanted) const {
  Result<Runtime> chosen = registry_.choose(wanted);
  // A client may send the agent's own host name, whatever it is: with one runtime there is no doubt.
  if (!chosen && !wanted.empty() && registry_.all().size() == 1) return registry_.choose({});
  return chosen;
}

Task<void> Agent::serve_raw(transport::Stream& stream, Caller caller, std::string wanted) {
  std::optional<Result<FirstMessage>> first;
  {
    const transport::Deadline limit(loop_, settings_.first_message_limit, [&stream] {
      stream.abort(Error{"read", "the first message", "it did not come whole in time", {}, 0});
    });
    first = co_await read_first_message(stream);
  }
  if (!*first) {
    const Error& why = first->error();
    if (why.code == EBADMSG) {
      co_await refuse_raw(stream, caller, ipc::hresult::kBadEncoding, why.message());
    } else {
      log_->info("refused a raw connection of {}: {}", describe(caller), why.message());
    }
    co_return;
  }
  if (!caller.rule) {
    co_await refuse_raw(stream, caller, ipc::hresult::kAccessDenied, refusal(caller));
    co_return;
  }
  if (const auto why = not_supported(**first)) {
    co_await refuse_raw(stream, caller, ipc::hresult::kNotSupported, *why);
    co_return;
  }
  const Result<Runtime> runtime = choose_raw(wanted);
  if (!runtime) {
    co_await refuse_raw(stream, caller, ipc::hresult::kFail, runtime.error().message());
    co_return;
  }
  const auto since = std::chrono::steady_clock::now();
  auto opened = co_await open_runtime(services_, runtime->id, std::move((*first)->bytes));
  if (!opened) {
    co_await refuse_raw(stream, caller, ipc::hresult::kFail, opened.error().message());
    co_return;
  }
  const RelayOutcome outcome = co_await relay(stream, **opened, buffers_);
  opened->reset();
  log_outcome(services_, caller, *runtime, (*first)->header, outcome.to_tool, since, outcome.broken);
  if (!outcome.broken) co_await linger(stream);
}

Task<void> Agent::linger(transport::Stream& stream) {
  const transport::Deadline limit(loop_, kLinger, [&stream] {
    stream.abort(Error{"wait for", "the peer", "it does not close its side", {}, 0});
  });
  std::vector<std::byte> ignored(kLingerRead);
  for (IoStatus status = IoStatus::ok; status == IoStatus::ok;) {
    const transport::Io io = co_await stream.read(ignored);
    status = io.status;
  }
}

Task<void> Agent::refuse_raw(transport::Stream& stream, const Caller& caller, std::uint32_t hresult,
                             std::string why) {
  log_->info("refused a raw connection of {}: {}", describe(caller), why);
  const ipc::Bytes answer = ipc::encode_error(hresult);
  const IoStatus written = co_await stream.write(answer);
  if (written != IoStatus::ok) co_return;
  std::ignore = co_await stream.finish();
  co_await linger(stream);
}

}  // namespace farport::router
