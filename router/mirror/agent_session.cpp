#include "router/mirror/agent_session.hpp"

#include <algorithm>

#include "auth/tls_context.hpp"
#include "router/mirror/request_pace.hpp"
#include "router/wire/resumption_fields.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Http2Stream;
using transport::IoStatus;
using transport::Task;
using transport::TlsStream;

constexpr transport::Milliseconds kHandshakeLimit{10'000};

std::string explain(const TlsStream& tls, const Error& error) {
  if (tls.openssl_error() == 0) return error.why;
  return auth::describe_handshake_failure(tls.ssl(), tls.openssl_error());
}

}  // namespace

Task<AgentSession::Dialled> AgentSession::dial(transport::Loop& loop,
                                               std::vector<transport::Address> addresses,
                                               std::string server_name, SSL_CTX* context,
                                               transport::Http2Limits limits) {
  // Certificates that are read again meanwhile bring another context, and this one goes.
  SSL_CTX_up_ref(context);
  const auth::SslCtxPtr kept(context);
  std::optional<Error> failure;
  for (;;) {
    auto connection = co_await transport::connect_any(loop, addresses, kDialLimit);
    if (!connection) co_return tl::unexpected(failure ? *failure : connection.error());
    std::erase(addresses, connection->address);
    auto session = co_await shake_hands(std::move(*connection), server_name, context, limits);
    if (session || addresses.empty())
      co_return failure && !session ? tl::unexpected(*failure) : std::move(session);
    if (!failure) failure = session.error();
  }
}

Task<AgentSession::Dialled> AgentSession::shake_hands(transport::Connected connection,
                                                      std::string server_name, SSL_CTX* context,
                                                      transport::Http2Limits limits) {
  SSL_CTX_up_ref(context);
  const auth::SslCtxPtr kept(context);
  const transport::Address address = connection.address;
  auto tls = std::make_unique<TlsStream>(std::move(connection.stream), context, TlsStream::Side::client);
  const Result<void> named = auth::set_expected_server_name(tls->ssl(), server_name);
  if (!named) co_return tl::unexpected(named.error());
  {
    TlsStream& stream = *tls;
    const transport::Deadline limit(tls->loop(), kHandshakeLimit, [&stream] {
      stream.abort(
          Error{"agree on TLS with", {}, "it does not answer; is this the port of farport serve?", {}, 0});
    });
    const Result<void> agreed = co_await tls->handshake();
    if (!agreed) {
      const std::string why = limit.expired()
                                  ? agreed.error().why
                                  : auth::describe_handshake_failure(tls->ssl(), tls->openssl_error());
      co_return fail("open a session with", address.text(), why);
    }
  }
  if (tls->alpn() != "h2") {
    co_return fail("open a session with", address.text(), "it does not speak HTTP/2", "is it farport serve?");
  }
  co_return std::make_unique<AgentSession>(std::move(tls), address, limits);
}

AgentSession::AgentSession(std::unique_ptr<TlsStream> tls, const transport::Address& address,
                           transport::Http2Limits limits)
    : peer_(address),
      address_(address.text()),
      tls_(*tls),
      http_(std::move(tls), transport::Http2Session::Role::client, limits) {}

void AgentSession::learn_instance(const transport::MessageHead& answer) {
  instance_ = answer.field(resumption_field::kInstance);
}

Task<Error> AgentSession::run() {
  const Result<void> ended = co_await http_.run();
  Error why = ended.error();
  why.what = "keep the session with";
  why.on = address_;
  why.why = explain(tls_, why);
  co_return why;
}

std::unique_ptr<Http2Stream> AgentSession::request(std::string_view method, std::string_view path, bool body,
                                                   const transport::HeaderFields& fields) {
  return http_.request(method, path, address_, fields, body);
}

Task<Result<std::unique_ptr<Http2Stream>>> AgentSession::ask(std::string method, std::string path) {
  for (;;) {
    auto answer = request(method, path, false);
    if (answer == nullptr) co_return fail("ask", address_, "the session takes no request");
    const IoStatus head = co_await answer->head_received();
    if (head != IoStatus::ok) co_return tl::unexpected(answer->error());
    const auto pause = pause_told(answer->head());
    if (!pause) co_return answer;
    answer.reset();
    co_await transport::sleep(loop(), *pause);
  }
}

}  // namespace farport::router
