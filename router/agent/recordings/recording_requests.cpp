#include "router/agent/recordings/recording_requests.hpp"

#include "ipc/error.hpp"
#include "router/agent/gate/limits.hpp"
#include "router/readers/reading.hpp"
#include "router/stream/relay.hpp"
#include "router/wire/http_status.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Stream;
using transport::Task;

constexpr std::size_t kRecordingPieceBytes = 32 * 1024;

/// Passes on what the runtime writes.
Task<void> pass_on(Stream& from, Stream& to) {
  std::vector<std::byte> piece(kRecordingPieceBytes);
  for (;;) {
    const transport::Io got = co_await from.read(piece);
    // What was broken off is not taken for whole.
    if (got.status == IoStatus::failed) co_return to.abort(from.error());
    if (got.status == IoStatus::end) break;
    const IoStatus written = co_await to.write(std::span(piece).first(got.bytes));
    if (written != IoStatus::ok) co_return;
  }
  std::ignore = co_await to.finish();
}

}  // namespace

Refusal no_reader(const Error& why) {
  Refusal refusal{http_status::kUnavailable, ipc::hresult::kBusy, why.message()};
  constexpr int kUntilAgain = 30;
  refusal.retry_after = kUntilAgain;
  return refusal;
}

Task<std::optional<Refusal>> RecordingRequests::record(Response& response, std::string kind,
                                                       Parameters parameters, const Caller& caller,
                                                       RuntimePtr runtime) {
  auto wanted = wanted_recording(kind, parameters, *runtime);
  if (!wanted) co_return Refusal{http_status::kBadRequest, ipc::hresult::kFail, wanted.error().message()};
  if (runtime->state == RuntimeState::suspended)
    co_return Refusal{http_status::kConflict, ipc::hresult::kFail, is_suspended(*runtime).message()};
  if (!wanted->reading) {
    auto refused = co_await record_wanted(response, std::move(*wanted), caller, std::move(runtime));
    co_return refused;
  }
  ReadingRequest& reading = *wanted->reading;
  const auto place =
      co_await first_of(readers_.place_for(reading.kind, identity_key(caller)), response.stream().gone());
  if (!place) co_return std::nullopt;
  if (!*place) co_return no_reader(place->error());
  reading.memory_bytes = (**place)->bytes();
  reading.processor_seconds = processor_seconds_for(wanted->duration);
  auto refused = co_await record_wanted(response, std::move(*wanted), caller, std::move(runtime));
  co_return refused;
}

Task<std::optional<Refusal>> RecordingRequests::record_wanted(Response& response, WantedRecording wanted,
                                                              const Caller& caller, RuntimePtr runtime) {
  InnerRecording recording(loop_, connections_, caller, std::move(runtime));
  auto refused = co_await begin(response, recording, std::move(wanted.recording));
  if (!refused) refused = co_await answer(response, recording, std::move(wanted));
  co_await recording.end();
  co_return refused;
}

Task<std::optional<Refusal>> RecordingRequests::begin(Response& response, InnerRecording& recording,
                                                      ipc::CollectTracing wanted) {
  // The runtime may never answer: a caller that goes does not wait for it.
  const transport::WhenGone gone(response.stream(), [&recording] { recording.abandon(); });
  auto refused = co_await recording.begin(std::move(wanted));
  co_return refused;
}

Task<std::optional<Refusal>> RecordingRequests::answer(Response& response, InnerRecording& recording,
                                                       WantedRecording wanted) {
  bool begun = false;
  std::function<void()> begin_answer = [&] {
    transport::HeaderFields fields;
    fields.emplace_back("content-type", wanted.content_type);
    response.send_head(http_status::kOk, std::move(fields), true);
    begun = true;
  };
  transport::Event enough(loop_);
  transport::TaskSet stopping(loop_);
  stopping.spawn(stop_in_time(recording, wanted.duration, enough));
  if (!wanted.reading) {
    // A caller that goes ends it, however silent the runtime is.
    const auto guard = abort_when_gone(response.stream(), recording.stream());
    begin_answer();
    co_await pass_on(recording.stream(), response.stream());
    co_return std::nullopt;
  }
  AnswerTo to{response.stream(), std::move(begin_answer), &enough};
  const auto answered = co_await answer_through_reader(loop_, *readers_.process, std::move(*wanted.reading),
                                                       answer_from(recording.stream()), std::move(to));
  if (answered || begun) co_return std::nullopt;
  Refusal none{http_status::kBadGateway, ipc::hresult::kFail, answered.error().message()};
  co_return none;
}

Task<void> RecordingRequests::stop_in_time(InnerRecording& recording, transport::Milliseconds duration,
                                           transport::Event& enough) {
  co_await with_deadline(loop_, enough.wait(), duration);
  co_await recording.stop();
}

}  // namespace farport::router
