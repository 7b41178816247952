#include "router/agent/recordings/recording_requests.hpp"

#include <algorithm>

#include "events/fields.hpp"
#include "ipc/message.hpp"
#include "router/agent/gate/limits.hpp"
#include "router/readers/answers.hpp"
#include "router/readers/reading.hpp"
#include "router/recordings/providers.hpp"
#include "router/recordings/recordings.hpp"
#include "router/stream/relay.hpp"
#include "router/wire/http_status.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using ReadKind = ReadingRequest::Kind;

/// The default duration, the same as dotnet-monitor's.
constexpr transport::Milliseconds kUsualDuration{30'000};
constexpr double kMaxSeconds = 7.0 * 24 * 60 * 60;
constexpr std::uint32_t kTraceBufferMb = 256;
constexpr const char* kBytes = "application/octet-stream";
constexpr const char* kJsonLines = "application/x-ndjson";

/// Splits at commas, and leaves out empty parts.
std::vector<std::string> list_of(std::string_view text) {
  std::vector<std::string> parts = split_list(text, [](char) { return false; });
  std::erase(parts, std::string());
  return parts;
}

/// Parses seconds such as "0.5". Returns `otherwise` if there is no text.
Result<transport::Milliseconds> seconds_of(const std::string& name, const std::string& text,
                                           transport::Milliseconds otherwise) {
  if (text.empty()) return otherwise;
  const double seconds = events::number_or_nan(text);
  // Also false if the text is not a number.
  const bool is_time = seconds > 0 && seconds <= kMaxSeconds;
  if (!is_time) {
    return fail("take the parameter", name, "it is no number of seconds above 0, a week at most");
  }
  return std::chrono::ceil<transport::Milliseconds>(std::chrono::duration<double>(seconds));
}

Result<std::optional<bool>> truth_of(const std::string& name, const std::string& text) {
  if (text.empty()) return std::nullopt;
  if (text == "true") return true;
  if (text == "false") return false;
  return fail("take the parameter", name, "it is neither true nor false");
}

Result<WantedRecording> trace_of(const Parameters& parameters, const Runtime& /*runtime*/) {
  ASSIGN_OR_RETURN(const auto rundown, truth_of("rundown", parameters("rundown")));
  ASSIGN_OR_RETURN(auto recording,
                   recording_of({parameters("profile")}, {parameters("providers")}, rundown, kTraceBufferMb));
  return WantedRecording{std::move(recording), kUsualDuration, std::nullopt, kBytes};
}

Result<WantedRecording> counters_of(const Parameters& parameters, const Runtime& runtime) {
  const std::string names = parameters("counters");
  ASSIGN_OR_RETURN(const auto selection, selection_named(names));
  CounterLimits limits;
  ASSIGN_OR_RETURN(const auto interval, seconds_of("interval", parameters("interval"), limits.interval));
  limits.interval = interval;
  auto recording = selection.wanted(runtime.version, limits);
  return WantedRecording{std::move(recording), kUsualDuration, ReadingRequest{{ReadKind::counters}, names},
                         kJsonLines};
}

Result<WantedRecording> logs_of(const Parameters& parameters, const Runtime& /*runtime*/) {
  ASSIGN_OR_RETURN(auto recording, wanted_logs(parameters("level"), list_of(parameters("category"))));
  return WantedRecording{std::move(recording), kUsualDuration, ReadingRequest{{ReadKind::logs}}, kJsonLines};
}

Result<WantedRecording> exceptions_of(const Parameters& /*parameters*/, const Runtime& /*runtime*/) {
  auto recording = wanted_exceptions();
  // The rundown names the methods on the stacks.
  recording.rundown = true;
  return WantedRecording{std::move(recording), kUsualDuration, ReadingRequest{{ReadKind::exceptions}},
                         kJsonLines};
}

Result<WantedRecording> stacks_of(const Parameters& /*parameters*/, const Runtime& /*runtime*/) {
  return WantedRecording{wanted_samples(), kStacksTime, ReadingRequest{{ReadKind::stacks}}, kJson};
}

Result<WantedRecording> gcdump_of(const Parameters& parameters, const Runtime& runtime) {
  const std::string format = parameters("format");
  if (!format.empty() && format != "gcdump" && format != "json")
    return fail("take the parameter", "format", "it is neither gcdump nor json");
  const bool objects = format == "gcdump";
  // The objects take memory in proportion to the heap. Who reads what is kept has more of it than an agent
  // beside the application.
  const auto kind = !objects                       ? ReadKind::heap
                    : parameters("keep") == "true" ? ReadKind::heap_events
                                                   : ReadKind::objects;
  ASSIGN_OR_RETURN(auto recording, wanted_heap(runtime));
  return WantedRecording{std::move(recording), kUsualDuration, ReadingRequest{{kind}, runtime.name},
                         objects ? kBytes : kJson};
}

struct RecordingKind {
  std::string_view name;
  Result<WantedRecording> (*made)(const Parameters&, const Runtime&);
};
constexpr RecordingKind kRecordingKinds[] = {{"trace", trace_of},   {"counters", counters_of},
                                             {"logs", logs_of},     {"exceptions", exceptions_of},
                                             {"stacks", stacks_of}, {"gcdump", gcdump_of}};

}  // namespace

Result<WantedRecording> wanted_recording(std::string_view kind, const Parameters& parameters,
                                         const Runtime& runtime) {
  const auto* const known = std::ranges::find(kRecordingKinds, kind, &RecordingKind::name);
  if (known == std::ranges::end(kRecordingKinds)) return fail("record", kind, "there is no such recording");
  ASSIGN_OR_RETURN(auto wanted, known->made(parameters, runtime));
  ASSIGN_OR_RETURN(const auto duration, seconds_of("seconds", parameters("seconds"), wanted.duration));
  wanted.duration = duration;
  return wanted;
}

namespace {

using transport::IoStatus;
using transport::Stream;
using transport::Task;

constexpr std::size_t kRecordingPieceBytes = 32 * 1024;

/// Relays what the runtime writes to the caller.
Task<void> pass_on(Stream& from, Stream& to) {
  std::vector<std::byte> piece(kRecordingPieceBytes);
  for (;;) {
    const transport::Io got = co_await from.read(piece);
    // Abort, so that the caller does not take the recording for complete.
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

Task<std::optional<Refusal>> RecordingRequests::record(Answer& answer, std::string kind,
                                                       Parameters parameters, const Caller& caller,
                                                       RuntimePtr runtime) {
  auto wanted = wanted_recording(kind, parameters, *runtime);
  if (!wanted) co_return Refusal{http_status::kBadRequest, ipc::hresult::kFail, wanted.error().message()};
  if (runtime->state == RuntimeState::suspended)
    co_return Refusal{http_status::kConflict, ipc::hresult::kFail, is_suspended(*runtime).message()};
  const auto recording = answer.place_for_recording();
  if (!recording) co_return recording.error();
  if (!wanted->reading) {
    auto refused = co_await record_wanted(answer, std::move(*wanted), caller, std::move(runtime));
    co_return refused;
  }
  ReadingRequest& reading = *wanted->reading;
  const auto place = co_await first_of(readers_.place_for(reading.kind, identity_key(caller)), answer.gone());
  if (!place) co_return std::nullopt;
  if (!*place) co_return no_reader(place->error());
  reading.memory_bytes = (**place)->bytes();
  reading.processor_seconds = processor_seconds_for(wanted->duration);
  auto refused = co_await record_wanted(answer, std::move(*wanted), caller, std::move(runtime));
  co_return refused;
}

Task<std::optional<Refusal>> RecordingRequests::record_wanted(Answer& answer, WantedRecording wanted,
                                                              const Caller& caller, RuntimePtr runtime) {
  InnerRecording recording(loop_, connections_, caller, std::move(runtime));
  auto refused = co_await begin(answer, recording, std::move(wanted.recording));
  if (!refused) refused = co_await send(answer, recording, std::move(wanted));
  co_await recording.end();
  co_return refused;
}

Task<std::optional<Refusal>> RecordingRequests::begin(Answer& answer, InnerRecording& recording,
                                                      ipc::CollectTracing wanted) {
  // The runtime may never answer, so stop waiting when the caller goes.
  const auto gone = answer.when_gone([&recording] { recording.abandon(); });
  auto refused = co_await recording.begin(std::move(wanted));
  co_return refused;
}

Task<std::optional<Refusal>> RecordingRequests::send(Answer& answer, InnerRecording& recording,
                                                     WantedRecording wanted) {
  bool begun = false;
  std::function<void()> begin_answer = [&] {
    transport::HeaderFields fields;
    fields.emplace_back("content-type", wanted.content_type);
    answer.begin(std::move(fields));
    begun = true;
  };
  transport::Event enough(loop_);
  transport::TaskSet stopping(loop_);
  stopping.spawn(stop_in_time(recording, wanted.duration, enough));
  if (!wanted.reading) {
    // End when the caller goes, even if the runtime writes nothing.
    const auto guard = abort_when_gone(answer.passed_on(), recording.stream());
    begin_answer();
    co_await pass_on(recording.stream(), answer.passed_on());
    co_return std::nullopt;
  }
  AnswerTo to{answer.passed_on(), std::move(begin_answer), &enough};
  // What others report while they go on is no gap of an answer.
  const ReadKind kind = wanted.reading->kind;
  const bool is_heap = kind == ReadKind::heap || kind == ReadKind::objects || kind == ReadKind::heap_events;
  if (is_heap) to.lacks = [&answer](std::string what) { answer.lacks(std::move(what)); };
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
