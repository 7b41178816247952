#include "router/agent/recordings/inner_recording.hpp"

#include <array>
#include <cerrno>

#include <sys/socket.h>

#include "ipc/message.hpp"
#include "router/recordings/recordings.hpp"
#include "router/wire/http_status.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

Refusal unanswered(const Error& why) {
  return {http_status::kBadGateway, ipc::hresult::kFail, why.message()};
}

}  // namespace

Result<std::unique_ptr<InnerConnection>> InnerConnection::open(transport::Loop& loop,
                                                               DiagnosticConnections& connections,
                                                               const Caller& caller, RuntimePtr runtime) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail_errno("open", "a connection of the agent's own", errno);
  auto made = std::make_unique<InnerConnection>(loop, UniqueFd(ends[0]), UniqueFd(ends[1]));
  made->carrying_.spawn(connections.carry(caller, std::move(runtime), made->endpoint_));
  return made;
}

InnerConnection::InnerConnection(transport::Loop& loop, UniqueFd tool, UniqueFd agent)
    : endpoint_(loop, std::move(agent)), carrying_(loop) {
  tool_.emplace(loop, std::move(tool), "the agent");
}

Task<void> InnerConnection::Endpoint::refuse(Refusal refusal) {
  refused_ = std::move(refusal);
  std::ignore = co_await stream_.finish();
}

Task<tl::expected<ipc::Message, Refusal>> InnerConnection::ask(ipc::Message command) {
  const auto question = ipc::encode_message(command);
  if (!question) co_return tl::unexpected(unanswered(question.error()));
  const IoStatus written = co_await tool_->write(*question);
  if (written != IoStatus::ok) co_return tl::unexpected(unanswered(tool_->error()));
  const auto answer = co_await read_first_message(*tool_);
  if (endpoint_.refused()) co_return tl::unexpected(*endpoint_.refused());
  if (!answer) co_return tl::unexpected(unanswered(answer.error()));
  auto message = ipc::decode_message(answer->bytes);
  if (!message) co_return tl::unexpected(unanswered(message.error()));
  co_return std::move(*message);
}

Task<void> InnerConnection::end() {
  tool_.reset();
  co_await carrying_.idle();
}

namespace {

Refusal not_recorded(int status, const Error& why) {
  return {status, ipc::hresult::kFail, why.message()};
}

}  // namespace

InnerRecording::InnerRecording(transport::Loop& loop, DiagnosticConnections& connections,
                               const Caller& caller, RuntimePtr runtime)
    : loop_(loop), connections_(connections), caller_(caller), runtime_(std::move(runtime)) {}

Result<std::unique_ptr<InnerConnection>> InnerRecording::connect() const {
  return InnerConnection::open(loop_, connections_, caller_, runtime_);
}

Task<std::optional<Refusal>> InnerRecording::begin(ipc::CollectTracing wanted) {
  for (;;) {
    if (abandoned_) {
      co_return not_recorded(http_status::kUnavailable, Error{"record for", "a caller", "it is gone"});
    }
    auto connection = connect();
    if (!connection) co_return not_recorded(http_status::kUnavailable, connection.error());
    connection_ = std::move(*connection);
    const auto answer = co_await connection_->ask(ipc::make_message(wanted.version, wanted.encode()));
    if (!answer) co_return answer.error();
    const Result<void> outcome = ipc::outcome_of(*answer, wanted.version);
    if (outcome) {
      const auto session = ipc::SessionId::decode(answer->payload);
      if (!session) co_return not_recorded(http_status::kBadGateway, session.error());
      session_ = *session;
      co_return std::nullopt;
    }
    const bool unknown = outcome.error().cause == Cause::runtime(ipc::hresult::kUnknownCommand);
    auto older = unknown ? wanted.older() : std::nullopt;
    if (!older) co_return not_recorded(http_status::kBadGateway, outcome.error());
    wanted = std::move(*older);
    // connection_ is empty while this one ends, so that abandon() does not break it off.
    const std::unique_ptr<InnerConnection> refused = std::move(connection_);
    co_await refused->end();
  }
}

void InnerRecording::abandon() {
  abandoned_ = true;
  if (connection_ != nullptr)
    connection_->stream().abort(Error{"record for", "a caller", "it is gone", {}, Cause(ECANCELED)});
}

Task<void> InnerRecording::stop() {
  auto stopping = connect();
  if (!stopping) co_return stream().abort(stopping.error());
  const auto stopped = co_await (*stopping)->ask(ipc::make_message(ipc::kStopTracing, session_.encode()));
  if (!stopped || !ipc::is_ok(*stopped))
    stream().abort(Error{"stop", "the recording", "the runtime does not stop it"});
  co_await (*stopping)->end();
}

Task<void> InnerRecording::end() {
  if (connection_ != nullptr) co_await connection_->end();
}

namespace {

using transport::Deadline;

/// A runtime that has not begun to send after this time may never do so.
constexpr transport::Milliseconds kBeginLimit{10'000};
constexpr transport::Milliseconds kMethodsLimit{30'000};

Task<std::optional<Refusal>> begin_methods(transport::Loop& loop, InnerRecording& recording) {
  const Deadline limit(loop, kBeginLimit, [&recording] { recording.abandon(); });
  auto refused = co_await recording.begin(wanted_methods());
  co_return refused;
}

}  // namespace

Task<void> pass_methods_on(transport::Loop& loop, InnerRecording& recording, Reading& to) {
  const auto refused = co_await begin_methods(loop, recording);
  if (refused) co_return;
  const Deadline limit(loop, kMethodsLimit, [&recording] { recording.abandon(); });
  // The rest may be larger than the socket's buffer, so it is read while the runtime stops.
  transport::TaskSet stopping(loop);
  stopping.spawn(recording.stop());
  std::ignore = co_await to.pass_on(recording.stream());
}

}  // namespace farport::router
