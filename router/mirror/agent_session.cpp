#include "router/mirror/agent_session.hpp"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "auth/tls_context.hpp"
#include "router/mirror/request_pace.hpp"
#include "router/wire/http_status.hpp"
#include "router/wire/resumption_fields.hpp"
#include "router/wire/runtime_json.hpp"
#include "transport/socket.hpp"
#include "transport/task_set.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Http2Stream;
using transport::Io;
using transport::IoStatus;
using transport::Task;
using transport::TlsStream;

constexpr transport::Milliseconds kConnectLimit{10'000};
constexpr transport::Milliseconds kHandshakeLimit{10'000};
/// A runtime's line has a fifth of this at most: a runtime says who it is in 64 KiB.
constexpr std::size_t kMaxLine = 1024 * 1024;
/// Why a request was refused, in words.
constexpr std::size_t kMaxRefusal = 64 * 1024;
/// How long an answer may pause.
constexpr transport::Milliseconds kSilence{20'000};

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
    auto connection = co_await transport::connect_any(loop, addresses, kConnectLimit);
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

Task<Result<std::string>> read_answer(Http2Stream& answer, std::size_t most) {
  const IoStatus head = co_await answer.head_received();
  if (head != IoStatus::ok) co_return tl::unexpected(answer.error());
  auto body = co_await read_body(answer.head(), answer, most);
  co_return body;
}

Task<Result<std::string>> read_body(const transport::MessageHead& head, transport::Stream& from,
                                    std::size_t most) {
  if (head.status != http_status::kOk) most = std::min(most, kMaxRefusal);
  std::string body;
  std::vector<std::byte> part(16 * 1024);
  for (;;) {
    const transport::Deadline silence(from.loop(), kSilence, [&from] {
      from.abort(Error{"read", "the agent's answer", "it does not go on", {}, ETIMEDOUT});
    });
    const Io io = co_await from.read(part);
    if (io.status == IoStatus::failed) co_return tl::unexpected(from.error());
    if (io.status == IoStatus::end) break;
    body.append(reinterpret_cast<const char*>(part.data()), io.bytes);
    if (body.size() > most) {
      co_return fail("read", "the agent's answer", fmt::format("it has more than {} bytes", most));
    }
  }
  if (head.status == http_status::kOk) co_return body;
  const RefusedRequest refused = error_from_json(body);
  const int code = refused.hresult ? static_cast<int>(*refused.hresult) : head.status;
  const Error why{"use", "the agent", refused.why, {}, code};
  co_return tl::unexpected(why);
}

Task<std::optional<std::string>> AnswerLines::next() {
  std::vector<std::byte> part(4096);
  for (;;) {
    const std::size_t end = buffered_.find('\n', searched_);
    if (end != std::string::npos) {
      std::string line = buffered_.substr(0, end);
      buffered_.erase(0, end + 1);
      searched_ = 0;
      co_return line;
    }
    searched_ = buffered_.size();
    if (searched_ > kMaxLine) {
      broken_ =
          Error{"read", "the agent's answer", fmt::format("a line has more than {} bytes", kMaxLine), {}, 0};
      co_return std::nullopt;
    }
    const Io io = co_await answer_.read(part);
    if (io.status != IoStatus::ok) co_return std::nullopt;
    buffered_.append(reinterpret_cast<const char*>(part.data()), io.bytes);
  }
}

}  // namespace farport::router
