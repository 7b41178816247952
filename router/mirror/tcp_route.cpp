#include "router/mirror/tcp_route.hpp"

#include <algorithm>
#include <cerrno>

#include "auth/tls_context.hpp"
#include "transport/share.hpp"
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
  // Certificates that are read again meanwhile bring another context, and this one goes.
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
    const Result<void> named = auth::set_expected_server_name(stream.ssl(), server_name);
    if (!named) co_return tl::unexpected(named.error());
  }
  {
    const transport::Deadline limit(stream.loop(), kHandshakeLimit, [&stream] {
      stream.abort(
          Error{"agree on TLS with", {}, "it does not answer; is this the port of farport serve?", {}, 0});
    });
    const Result<void> agreed = co_await stream.handshake(time);
    if (!agreed) {
      const std::string why = limit.expired()
                                  ? agreed.error().why
                                  : auth::describe_handshake_failure(stream.ssl(), stream.openssl_error());
      Error error{"open a session with", address, why, {}, agreed.error().cause};
      // It has gone, and that is all.
      if (!limit.expired() && stream.openssl_error() == 0) error.cause = ECONNRESET;
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

}  // namespace farport::router
