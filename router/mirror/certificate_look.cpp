#include "router/mirror/certificate_look.hpp"

#include "auth/openssl.hpp"
#include "auth/tls_context.hpp"
#include "transport/race.hpp"
#include "transport/share.hpp"
#include "transport/socket.hpp"
#include "transport/tls_stream.hpp"

namespace farport::router {
namespace {

using transport::Task;
using transport::TlsStream;

constexpr transport::Milliseconds kLookLimit{5000};
/// Of the loop, in one of its turns.
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

Task<std::optional<auth::Validity>> look_at_certificate(transport::Loop& loop, transport::Address address,
                                                        std::string server_name) {
  const auto shown = co_await with_deadline(loop, look(loop, address, std::move(server_name)), kLookLimit);
  co_return shown.value_or(std::nullopt);
}

}  // namespace farport::router
