#include "router/mirror/agent_session.hpp"

#include "auth/identity.hpp"
#include "router/mirror/answers.hpp"
#include "router/mirror/request_pace.hpp"
#include "router/wire/resumption_fields.hpp"
#include "transport/timer.hpp"

namespace farport::router {

using transport::Http2Stream;
using transport::IoStatus;
using transport::Task;

namespace {

const std::string kNoAuthority = "localhost";

/// Without TLS nothing tells an end in good order from another one.
transport::Http2Limits limits_on(const AgentConnection& connection, transport::Http2Limits limits) {
  limits.end_is_break = connection.ssl == nullptr;
  return limits;
}

}  // namespace

std::string agent_of(const std::string& instance, const SSL* ssl) {
  if (instance.empty() || ssl == nullptr) return instance;
  return instance + " " + auth::identity_of(SSL_get0_peer_certificate(ssl)).spki_pin;
}

AgentSession::AgentSession(AgentConnection connection, transport::Party party, transport::Http2Limits limits)
    : loop_(connection.stream->loop()),
      connection_(std::move(connection)),
      http_(std::move(connection_.stream), transport::Http2Session::Role::client, std::move(party),
            limits_on(connection_, limits)) {
  if (connection_.peers == nullptr) return;
  std::function<void(const Error&)> end = [this](const Error& why) { end_distrusted(http_, why); };
  verified_.emplace(*connection_.peers, connection_.ssl, std::move(end));
}

void AgentSession::learn_instance(const transport::MessageHead& answer) {
  instance_ = answer.field(resumption_field::kInstance);
}

std::string AgentSession::agent() const {
  return agent_of(instance_, connection_.ssl);
}

Task<Error> AgentSession::run() {
  const Result<void> ended = co_await http_.run();
  Error why = ended.error();
  why.what = "keep the session with";
  why.on = address();
  if (connection_.explain) why.why = connection_.explain(why);
  co_return why;
}

std::unique_ptr<Http2Stream> AgentSession::request(std::string_view method, std::string_view path, bool body,
                                                   const transport::HeaderFields& fields) {
  // Where a command leads to it, the address is a person's words, and no authority (RFC 9113 section 8.3.1).
  const std::string& authority = peer() ? address() : kNoAuthority;
  return http_.request(method, path, authority, fields, body);
}

Task<Result<std::unique_ptr<Http2Stream>>> AgentSession::ask(std::string method, std::string path) {
  for (;;) {
    auto answer = request(method, path, false);
    if (answer == nullptr) co_return fail("ask", address(), "the session takes no request");
    const IoStatus head = co_await answer->head_received();
    if (head != IoStatus::ok) co_return tl::unexpected(answer->error());
    const auto pause = pause_told(answer->head());
    if (!pause) co_return answer;
    answer.reset();
    co_await transport::sleep(loop(), *pause);
  }
}

Task<void> ask_instance(AgentSession& session) {
  const auto answer = co_await session.ask("GET", "/v1/runtimes?watch=true");
  if (answer) session.learn_instance((*answer)->head());
}

Task<Result<std::string>> ask_in(AgentSession& session, std::string path) {
  auto answer = co_await session.ask("GET", std::move(path));
  if (!answer) co_return tl::unexpected(answer.error());
  session.learn_instance((*answer)->head());
  auto body = co_await read_answer(**answer);
  co_return body;
}

}  // namespace farport::router
