#include "router/collect/recording.hpp"

#include <optional>
#include <set>

#include "ipc/message.hpp"
#include "router/mirror/agent_session.hpp"
#include "router/readers/reading.hpp"
#include "router/recordings/recordings.hpp"
#include "router/stream/first_message.hpp"
#include "router/wire/http_status.hpp"
#include "router/wire/session_options.hpp"
#include "transport/task_set.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Stream;
using transport::Task;

/// Sends a command and waits until the agent has let it pass; fails if it refuses.
Task<Result<void>> send(ResumableRequest& connection, ipc::Message command) {
  CO_ASSIGN_OR_RETURN(const auto question, ipc::encode_message(command));
  const IoStatus written = co_await connection.stream().write(question);
  if (written != IoStatus::ok) co_return tl::unexpected(connection.stream().error());
  const IoStatus head = co_await connection.head_received();
  if (head != IoStatus::ok) co_return tl::unexpected(connection.stream().error());
  if (connection.head().status == http_status::kOk) co_return Result<void>();
  const auto refused = co_await read_body(connection.head(), connection.stream());
  co_return tl::unexpected(refused.error());
}

/// Reads the runtime's answer to `command`. Fails if the answer is an error.
Task<Result<ipc::Message>> read_answer(Stream& from, ipc::Command command) {
  CO_ASSIGN_OR_RETURN(const auto answer, co_await read_first_message(from));
  CO_ASSIGN_OR_RETURN(auto message, ipc::decode_message(answer.bytes));
  CO_RETURN_IF_ERROR(ipc::outcome_of(message, command));
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
  CO_RETURN_IF_ERROR(co_await send(*request_, ipc::make_message(wanted.version, wanted.encode())));
  if (is_zstd(request_->head())) decompressing_.emplace(request_->stream());
  CO_ASSIGN_OR_RETURN(const auto answer, co_await read_answer(stream(), wanted.version));
  CO_ASSIGN_OR_RETURN(const auto session, ipc::SessionId::decode(answer.payload));
  session_ = session;
  co_return Result<void>();
}

Task<Result<void>> Recording::stop() {
  return ask(ipc::kStopTracing, session_.encode());
}

Task<void> Recording::stop_or_abort() {
  const Result<void> stopped = co_await stop();
  if (!stopped) stream().abort(stopped.error());
}

Task<Result<void>> Recording::resume() {
  return ask(ipc::kResumeRuntime, {});
}

/// Sends a command on a connection of its own, beside the recording.
Task<Result<void>> Recording::ask(ipc::Command command, std::vector<std::byte> payload) {
  ResumableRequest connection(sessions_, path_);
  CO_RETURN_IF_ERROR(co_await send(connection, ipc::make_message(command, std::move(payload))));
  CO_RETURN_IF_ERROR(co_await read_answer(connection.stream(), command));
  co_return Result<void>();
}

namespace {

/// Passes the addresses and the recording to the reader. If the recording breaks off, the reader gets what
/// came before.
Task<void> feed(Reading& reading, const std::set<std::uint64_t>& addresses, Recording& recording,
                std::optional<Error>& broken) {
  std::vector<std::byte> bytes;
  for (const std::uint64_t address : addresses) {
    for (unsigned shift = 0; shift < 64; shift += 8)
      bytes.push_back(static_cast<std::byte>(address >> shift));
  }
  const transport::IoStatus written = co_await reading.write_part(bytes);
  if (written != transport::IoStatus::ok) co_return;
  const Reading::Passed passed = co_await reading.pass_on(recording.stream());
  if (passed == Reading::Passed::failed) broken = recording.stream().error();
  if (passed != Reading::Passed::not_taken) co_await reading.finish();
}

Task<Result<void>> take_names(Reading& reading, NamedMethods& to) {
  for (;;) {
    CO_ASSIGN_OR_RETURN(const auto frame, co_await reading.next());
    if (frame.kind == ReaderFrame::end) co_return Result<void>();
    if (frame.kind != ReaderFrame::method) continue;
    if (auto method = decode_method(frame.text)) to.add(std::move(*method));
  }
}

}  // namespace

Task<Result<void>> read_methods(SessionManager& sessions, std::string runtime_id,
                                const ReaderProcess& readers, std::vector<std::uint64_t> addresses,
                                NamedMethods& to) {
  const std::set<std::uint64_t> wanted(addresses.begin(), addresses.end());
  Recording recording(sessions, runtime_id);
  CO_RETURN_IF_ERROR(co_await recording.begin(wanted_methods()));
  Reading reading(sessions.loop(), local_request(ReadingTask::Kind::methods), Reading::For::user);
  CO_RETURN_IF_ERROR(reading.begin(readers));
  std::optional<Error> broken;
  // The rundown at the end may not fit the buffers before the runtime answers, so it is read meanwhile.
  transport::TaskSet working(sessions.loop());
  working.spawn(recording.stop_or_abort());
  working.spawn(feed(reading, wanted, recording, broken));
  const Result<void> named = co_await take_names(reading, to);
  if (named && broken) co_return tl::unexpected(*broken);
  co_return named;
}

}  // namespace farport::router
