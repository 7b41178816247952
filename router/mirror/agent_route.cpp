#include "router/mirror/agent_route.hpp"

#include <algorithm>
#include <cerrno>

#include "auth/openssl.hpp"
#include "auth/tls_context.hpp"
#include "transport/happy_eyeballs.hpp"
#include "transport/race.hpp"
#include "transport/share.hpp"
#include "transport/socket.hpp"
#include "transport/timer.hpp"
#include "transport/tls_stream.hpp"

namespace farport::router {
namespace {

using transport::Task;
using transport::TlsStream;

constexpr transport::Milliseconds kHandshakeLimit{10'000};

std::string explain(const TlsStream& tls, const Error& error) {
  if (tls.openssl_error() == 0) return error.why;
  return auth::describe_handshake_failure(tls.ssl(), tls.openssl_error());
}

}  // namespace

TcpRoute::TcpRoute(transport::Loop& loop, std::vector<transport::Address> addresses, std::string server_name,
                   CredentialWatch& credentials, transport::Share& time)
    : loop_(loop),
      addresses_(std::move(addresses)),
      text_(addresses_.front().text()),
      server_name_(std::move(server_name)),
      credentials_(credentials),
      time_(time),
      addresses_changed_(loop) {}

bool TcpRoute::set_addresses(std::vector<transport::Address> addresses) {
  if (addresses == addresses_) return false;
  addresses_ = std::move(addresses);
  addresses_changed_.set();
  return true;
}

Task<Result<AgentConnection>> TcpRoute::open() {
  while (addresses_.empty()) co_await addresses_changed_.wait();
  std::vector<transport::Address> addresses = addresses_;
  // A certificate reload may replace and free the context meanwhile, so keep a reference to this one.
  SSL_CTX* const context = credentials_.context();
  SSL_CTX_up_ref(context);
  const auth::SslCtxPtr kept(context);
  std::optional<Error> failure;
  for (;;) {
    auto connection = co_await transport::connect_any(loop_, addresses, kDialLimit);
    if (!connection) co_return tl::unexpected(failure ? *failure : connection.error());
    std::erase(addresses, connection->address);
    auto agreed = co_await shake_hands(std::move(*connection), server_name_, context, time_);
    if (agreed) {
      agreed->peers = &credentials_.peers();
      co_return agreed;
    }
    if (!failure) failure = agreed.error();
    if (addresses.empty()) co_return tl::unexpected(*failure);
  }
}

Task<Result<AgentConnection>> shake_hands(std::unique_ptr<transport::Stream> connection, std::string address,
                                          std::string server_name, SSL_CTX* context, transport::Share& time) {
  SSL_CTX_up_ref(context);
  const auth::SslCtxPtr kept(context);
  auto tls = std::make_unique<TlsStream>(std::move(connection), context, TlsStream::Side::client);
  TlsStream& stream = *tls;
  if (!server_name.empty()) {
    CO_RETURN_IF_ERROR(auth::set_expected_server_name(stream.ssl(), server_name));
  }
  {
    const transport::Deadline limit(stream.loop(), kHandshakeLimit, [&stream] {
      stream.abort(Error{
          "complete the TLS handshake with", {}, "it does not answer; is this the port of farport serve?"});
    });
    const Result<void> agreed = co_await stream.handshake(time);
    if (!agreed) {
      const std::string why = limit.expired()
                                  ? agreed.error().why
                                  : auth::describe_handshake_failure(stream.ssl(), stream.openssl_error());
      Error error{"open a session with", address, why, {}, agreed.error().cause};
      // The peer just closed the connection; nothing else is known.
      if (!limit.expired() && stream.openssl_error() == 0) error.cause = Cause(ECONNRESET);
      co_return tl::unexpected(std::move(error));
    }
  }
  if (stream.alpn() != "h2") {
    co_return fail("open a session with", address, "it does not speak HTTP/2", "is it farport serve?");
  }
  AgentConnection agreed{std::move(tls), std::move(address), {}, stream.ssl()};
  agreed.explain = [&stream](const Error& why) { return explain(stream, why); };
  co_return agreed;
}

Task<Result<AgentConnection>> shake_hands(transport::Connected connection, std::string server_name,
                                          SSL_CTX* context, transport::Share& time) {
  const transport::Address address = connection.address;
  auto agreed = co_await shake_hands(std::move(connection.stream), address.text(), std::move(server_name),
                                     context, time);
  if (agreed) agreed->peer = address;
  co_return agreed;
}

Task<Result<AgentConnection>> open_through(transport::Loop& loop, Proxy proxy, AgentAddress agent,
                                           SSL_CTX* context, transport::Share& time) {
  SSL_CTX_up_ref(context);
  const auth::SslCtxPtr kept(context);
  CO_ASSIGN_OR_RETURN(auto connected, co_await transport::connect_through(loop, std::move(proxy), agent.host,
                                                                          agent.port, kDialLimit));
  auto agreed =
      co_await shake_hands(std::move(connected), agent.text(), agent.verified_name(), context, time);
  co_return agreed;
}

Task<Result<AgentConnection>> ProxyRoute::open() {
  auto connection = co_await open_through(loop_, proxy_, agent_, credentials_.context(), time_);
  if (connection) connection->peers = &credentials_.peers();
  co_return connection;
}

namespace {

constexpr transport::Milliseconds kLookLimit{5000};
/// Loop time in a turn for the handshake.
constexpr std::chrono::milliseconds kLookShare{5};

Task<std::optional<auth::Validity>> look(transport::Loop& loop, transport::Address address,
                                         std::string server_name) {
  auto connection = co_await transport::connect_tcp(loop, address, kLookLimit);
  const auth::SslCtxPtr context(SSL_CTX_new(TLS_client_method()));
  if (!connection || context == nullptr) co_return std::nullopt;
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  TlsStream tls(std::move(*connection), context.get(), TlsStream::Side::client);
  const Result<void> named = auth::set_expected_server_name(tls.ssl(), server_name);
  if (!named) co_return std::nullopt;
  transport::Share time(loop, kLookShare);
  const Result<void> agreed = co_await tls.handshake(time);
  const X509* shown = SSL_get0_peer_certificate(tls.ssl());
  if (!agreed || shown == nullptr) co_return std::nullopt;
  co_return auth::validity_of(shown);
}

}  // namespace

Task<std::optional<auth::Validity>> peek_certificate_validity(transport::Loop& loop,
                                                              transport::Address address,
                                                              std::string server_name) {
  const auto shown = co_await with_deadline(loop, look(loop, address, std::move(server_name)), kLookLimit);
  co_return shown.value_or(std::nullopt);
}

}  // namespace farport::router
