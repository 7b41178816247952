#include "router/agent/recordings/inner_recording.hpp"

#include <cerrno>

#include "router/wire/http_status.hpp"

namespace farport::router {
namespace {

using transport::Task;

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
      co_return not_recorded(http_status::kUnavailable,
                             Error{"record for", "a caller", "it is gone", {}, {}});
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
    // There is none to be broken off while this one ends.
    const std::unique_ptr<InnerConnection> refused = std::move(connection_);
    co_await refused->end();
  }
}

void InnerRecording::abandon() {
  abandoned_ = true;
  if (connection_ != nullptr)
    connection_->stream().abort(Error{"record for", "a caller", "it is gone", {}, ECANCELED});
}

Task<void> InnerRecording::stop() {
  auto stopping = connect();
  if (!stopping) co_return stream().abort(stopping.error());
  const auto stopped = co_await (*stopping)->ask(ipc::make_message(ipc::kStopTracing, session_.encode()));
  if (!stopped || !ipc::is_ok(*stopped))
    stream().abort(Error{"stop", "the recording", "the runtime does not stop it", {}, {}});
  co_await (*stopping)->end();
}

Task<void> InnerRecording::end() {
  if (connection_ != nullptr) co_await connection_->end();
}

}  // namespace farport::router
