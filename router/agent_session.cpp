#include "router/agent_session.hpp"

#include "auth/tls_context.hpp"
#include "router/http_status.hpp"
#include "router/resumption_fields.hpp"
#include "router/runtime_json.hpp"
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
/// A list of runtimes longer than this is not from an agent.
constexpr std::size_t kMaxAnswer = 16 * 1024 * 1024;

std::string explain(const TlsStream& tls, const Error& error) {
  if (tls.openssl_error() == 0) return error.why;
  return auth::describe_handshake_failure(tls.ssl(), tls.openssl_error());
}

}  // namespace

std::string AgentAddress::text() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Task<Result<std::unique_ptr<AgentSession>>> AgentSession::dial(transport::Loop& loop,
                                                               transport::Address address,
                                                               std::string server_name, SSL_CTX* context,
                                                               transport::Http2Limits limits) {
  // Certificates that are read again meanwhile bring another context, and this one goes.
  SSL_CTX_up_ref(context);
  const auth::SslCtxPtr kept(context);
  auto connection = co_await transport::connect_tcp(loop, address, kConnectLimit);
  if (!connection) co_return tl::unexpected(connection.error());
  auto tls = std::make_unique<TlsStream>(std::move(*connection), context, TlsStream::Side::client);
  const Result<void> named = auth::set_expected_server_name(tls->ssl(), server_name);
  if (!named) co_return tl::unexpected(named.error());
  {
    TlsStream& stream = *tls;
    const transport::Deadline limit(loop, kHandshakeLimit, [&stream] {
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
  co_return std::make_unique<AgentSession>(std::move(tls), address.text(), limits);
}

AgentSession::AgentSession(std::unique_ptr<TlsStream> tls, std::string address, transport::Http2Limits limits)
    : address_(std::move(address)),
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

Task<Result<std::string>> read_answer(Http2Stream& answer) {
  const IoStatus head = co_await answer.head_received();
  if (head != IoStatus::ok) co_return tl::unexpected(answer.error());
  auto body = co_await read_body(answer.head(), answer);
  co_return body;
}

Task<Result<std::string>> read_body(const transport::MessageHead& head, transport::Stream& from) {
  std::string body;
  std::vector<std::byte> part(16 * 1024);
  for (;;) {
    const Io io = co_await from.read(part);
    if (io.status == IoStatus::failed) co_return tl::unexpected(from.error());
    if (io.status == IoStatus::end) break;
    body.append(reinterpret_cast<const char*>(part.data()), io.bytes);
    if (body.size() > kMaxAnswer) co_return fail("read", "the agent's answer", "it is too long");
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
    const std::size_t end = buffered_.find('\n');
    if (end != std::string::npos) {
      std::string line = buffered_.substr(0, end);
      buffered_.erase(0, end + 1);
      co_return line;
    }
    const Io io = co_await answer_.read(part);
    if (io.status != IoStatus::ok || buffered_.size() > kMaxAnswer) co_return std::nullopt;
    buffered_.append(reinterpret_cast<const char*>(part.data()), io.bytes);
  }
}

namespace {

Task<Result<std::string>> ask_one(transport::Loop& loop, transport::Address address, std::string server_name,
                                  SSL_CTX* context, std::string path) {
  auto session =
      co_await AgentSession::dial(loop, address, std::move(server_name), context, transport::Http2Limits{});
  if (!session) co_return tl::unexpected(session.error());
  std::optional<Error> ended;
  transport::TaskSet tasks(loop);
  tasks.spawn([](AgentSession& carried, std::optional<Error>& why) -> Task<void> {
    why = co_await carried.run();
  }(**session, ended));
  const auto answer = (*session)->request("GET", path, false);
  if (answer == nullptr) {
    const Error none{"ask", address.text(), "the session takes no request", {}, 0};
    co_return tl::unexpected(ended ? *ended : none);
  }
  const auto body = co_await read_answer(*answer);
  // The session's own end says more than that of the request in it.
  if (!body && body.error().code == 0) co_await tasks.idle();
  if (!body) co_return tl::unexpected(ended ? *ended : body.error());
  co_return *body;
}

}  // namespace

Task<Result<std::vector<AgentAnswer>>> ask_agent(transport::Loop& loop, AgentAddress agent, SSL_CTX* context,
                                                 std::string path) {
  const auto addresses = co_await transport::resolve(loop, agent.host, agent.port);
  if (!addresses) co_return tl::unexpected(addresses.error());
  std::vector<AgentAnswer> answers;
  std::optional<Error> failure;
  const std::string server_name = agent.server_name.empty() ? agent.host : agent.server_name;
  for (const transport::Address& address : *addresses) {
    auto body = co_await ask_one(loop, address, server_name, context, path);
    if (body) {
      AgentAnswer& answer = answers.emplace_back();
      answer.address = address.text();
      answer.body = std::move(*body);
    } else if (!failure) {
      failure = body.error();
    }
  }
  if (answers.empty() && failure) co_return tl::unexpected(*failure);
  co_return answers;
}

}  // namespace farport::router
