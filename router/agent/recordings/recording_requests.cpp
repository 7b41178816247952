#include "router/agent/recordings/recording_requests.hpp"

#include "ipc/error.hpp"
#include "nettrace/reader.hpp"
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

Task<bool> write_text(const std::string& text, Stream& to) {
  if (text.empty()) co_return true;
  const IoStatus written = co_await to.write(std::as_bytes(std::span(text)));
  co_return written == IoStatus::ok;
}

/// Passes on what is made of it, and sets `enough` when that has all it is for.
Task<void> pass_on_made(Stream& from, Stream& to, std::unique_ptr<events::LineMaker> maker,
                        transport::Event& enough) {
  nettrace::Reader reader(*maker);
  std::vector<std::byte> piece(kRecordingPieceBytes);
  for (;;) {
    const transport::Io got = co_await from.read(piece);
    // What was broken off is not taken for whole.
    if (got.status == IoStatus::failed) co_return to.abort(from.error());
    if (got.status == IoStatus::end) break;
    const Result<void> fed = reader.feed(std::span(piece).first(got.bytes));
    const std::string lines = maker->take_lines();
    const bool written = co_await write_text(lines, to);
    if (!written) co_return;
    if (!fed) co_return to.abort(fed.error());
    if (maker->has_enough()) enough.set();
  }
  const Result<std::string> end = maker->take_end();
  if (!end) co_return to.abort(end.error());
  const bool written = co_await write_text(*end, to);
  if (written) std::ignore = co_await to.finish();
}

}  // namespace

Task<std::optional<Refusal>> RecordingRequests::record(Response& response, std::string kind,
                                                       Parameters parameters, const Caller& caller,
                                                       RuntimePtr runtime) {
  auto wanted = wanted_recording(kind, parameters, *runtime);
  if (!wanted) co_return Refusal{http_status::kBadRequest, ipc::hresult::kFail, wanted.error().message()};
  if (runtime->state == RuntimeState::suspended)
    co_return Refusal{http_status::kConflict, ipc::hresult::kFail, is_suspended(*runtime).message()};
  InnerRecording recording(loop_, connections_, caller, std::move(runtime));
  auto refused = co_await begin(response, recording, std::move(wanted->recording));
  if (!refused) co_await answer(response, recording, std::move(*wanted));
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

Task<void> RecordingRequests::answer(Response& response, InnerRecording& recording, WantedRecording wanted) {
  transport::HeaderFields fields;
  fields.emplace_back("content-type", wanted.content_type);
  response.send_head(http_status::kOk, std::move(fields), true);
  // A caller that goes ends it, however silent the runtime is.
  const auto guard = abort_when_gone(response.stream(), recording.stream());
  transport::Event enough(loop_);
  transport::TaskSet stopping(loop_);
  stopping.spawn(stop_in_time(recording, wanted.duration, enough));
  if (wanted.lines) {
    co_await pass_on_made(recording.stream(), response.stream(), std::move(wanted.lines), enough);
  } else {
    co_await pass_on(recording.stream(), response.stream());
  }
}

Task<void> RecordingRequests::stop_in_time(InnerRecording& recording, transport::Milliseconds duration,
                                           transport::Event& enough) {
  co_await with_deadline(loop_, enough.wait(), duration);
  co_await recording.stop();
}

}  // namespace farport::router
