#include "router/collect/recording.hpp"

#include "ipc/error.hpp"
#include "router/mirror/answers.hpp"
#include "router/stream/first_message.hpp"
#include "router/wire/content_encoding.hpp"
#include "router/wire/http_status.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Stream;
using transport::Task;

/// Sends a command, and waits for the agent to have let it pass. Errors: it has not.
Task<Result<void>> send(ResumableRequest& connection, ipc::Message command) {
  const auto question = ipc::encode_message(command);
  if (!question) co_return tl::unexpected(question.error());
  const IoStatus written = co_await connection.stream().write(*question);
  if (written != IoStatus::ok) co_return tl::unexpected(connection.stream().error());
  const IoStatus head = co_await connection.head_received();
  if (head != IoStatus::ok) co_return tl::unexpected(connection.stream().error());
  if (connection.head().status == http_status::kOk) co_return Result<void>();
  const auto refused = co_await read_body(connection.head(), connection.stream());
  co_return tl::unexpected(refused.error());
}

/// The runtime's answer to `command`. Errors: it is one.
Task<Result<ipc::Message>> read_answer(Stream& from, ipc::Command command) {
  const auto answer = co_await read_first_message(from);
  if (!answer) co_return tl::unexpected(answer.error());
  auto message = ipc::decode_message(answer->bytes);
  if (!message) co_return message;
  const Result<void> outcome = ipc::outcome_of(*message, command);
  if (!outcome) co_return tl::unexpected(outcome.error());
  co_return message;
}

}  // namespace

Recording::Recording(SessionManager& sessions, const std::string& runtime_id)
    : sessions_(sessions), path_("/v1/runtimes/" + runtime_id + "/ipc") {}

Stream& Recording::stream() {
  if (decompressing_) return *decompressing_;
  return request_->stream();
}

Task<Result<void>> Recording::begin(ipc::CollectTracing wanted) {
  for (;;) {
    Result<void> begun = co_await ask_for(wanted);
    if (begun || begun.error().cause != Cause::runtime(ipc::hresult::kUnknownCommand)) co_return begun;
    auto older = wanted.older();
    if (!older) co_return begun;
    wanted = std::move(*older);
  }
}

Task<Result<void>> Recording::ask_for(ipc::CollectTracing wanted) {
  decompressing_.reset();
  request_.emplace(sessions_, path_, accepted_encodings(sessions_.options()));
  const Result<void> sent = co_await send(*request_, ipc::make_message(wanted.version, wanted.encode()));
  if (!sent) co_return sent;
  if (is_zstd(request_->head())) decompressing_.emplace(request_->stream());
  const auto answer = co_await read_answer(stream(), wanted.version);
  if (!answer) co_return tl::unexpected(answer.error());
  const auto session = ipc::SessionId::decode(answer->payload);
  if (!session) co_return tl::unexpected(session.error());
  session_ = *session;
  co_return Result<void>();
}

Task<Result<void>> Recording::stop() {
  return ask(ipc::kStopTracing, session_.encode());
}

Task<Result<void>> Recording::resume() {
  return ask(ipc::kResumeRuntime, {});
}

/// Beside what is recorded.
Task<Result<void>> Recording::ask(ipc::Command command, std::vector<std::byte> payload) {
  ResumableRequest connection(sessions_, path_);
  const Result<void> sent = co_await send(connection, ipc::make_message(command, std::move(payload)));
  if (!sent) co_return sent;
  const auto answer = co_await read_answer(connection.stream(), command);
  if (!answer) co_return tl::unexpected(answer.error());
  co_return Result<void>();
}

}  // namespace farport::router
