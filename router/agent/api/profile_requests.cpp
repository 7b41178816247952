#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/core.h>

#include "base/text.hpp"
#include "router/agent/api/api.hpp"
#include "router/agent/gate/gate.hpp"
#include "router/agent/recordings/inner_recording.hpp"
#include "router/stream/relay.hpp"
#include "router/wire/http_status.hpp"
#include "transport/race.hpp"
#include "transport/task_set.hpp"

namespace farport::router {
namespace {

struct FormWord {
  std::string_view word;
  profile::Form form;
  const char* content_type;
};
constexpr std::array kWords{
    FormWord{"html", profile::Form::html, "text/html; charset=utf-8"},
    FormWord{"svg", profile::Form::svg, "image/svg+xml"},
    FormWord{"speedscope", profile::Form::speedscope, kJson},
    FormWord{"pprof", profile::Form::pprof, "application/octet-stream"},
    FormWord{"perf", profile::Form::perf_script, "text/plain; charset=utf-8"},
    FormWord{"folded", profile::Form::folded, "text/plain; charset=utf-8"},
};

}  // namespace

Result<std::optional<ProfileFile>> profile_file(const std::string& word) {
  if (word.empty()) return std::nullopt;
  std::string words;
  for (const FormWord& each : kWords) {
    if (each.word == word) return ProfileFile{each.form, each.content_type};
    words += (words.empty() ? "" : ", ") + std::string(each.word);
  }
  return fail("take the parameter", "format", "there is no such name", "there are " + words);
}

namespace {

using transport::FdStream;
using transport::Io;
using transport::IoStatus;
using transport::Task;

/// Concurrent profiles. Each needs locked memory, which RLIMIT_MEMLOCK restricts.
constexpr std::size_t kMaxProfiles = 4;
/// The memory of one profile, in bytes: enough for any application at least, and this at most.
constexpr std::uint64_t kMinMemory = std::uint64_t{8} << 20;
constexpr std::uint64_t kMaxMemory = std::uint64_t{64} << 20;
constexpr std::uint32_t kFrequency = 99;
constexpr std::uint32_t kMaxFrequency = 1000;
constexpr std::uint32_t kSeconds = 10;
constexpr std::uint32_t kMaxSeconds = 3600;
constexpr std::size_t kSamplesPieceSize = 16 * 1024;

std::size_t profiles_at_once() {
  return std::clamp<std::size_t>(memory_for_helpers() / kMinMemory, 1, kMaxProfiles);
}

/// A function of its own: GCC 12 destroys the elements of an initializer list twice in a coroutine.
void send_head(Answer& answer, const std::string& content_type) {
  answer.begin({{"content-type", content_type}});
}

std::optional<Refusal> caller_gone(AuditEntry& entry) {
  entry.outcome = {Outcome::Kind::broken_off, tool_is_gone().message()};
  return std::nullopt;
}

std::string arguments_of(const SamplingRequest& wanted, const std::string& format) {
  const std::string_view event = wanted.event == SamplingEvent::wall ? R"("event":"wall",)" : "";
  const std::string form = format.empty() ? "" : fmt::format(R"(,"format":"{}")", format);
  return fmt::format(R"({{{}"frequency":{},"duration":{},"kernel":{}{}}})", event, wanted.frequency,
                     wanted.seconds, wanted.kernel, form);
}

/// A parameter from 1 to `most`, or `usual` if it is missing.
tl::expected<std::uint32_t, Refusal> count_in(const Route& route, std::string_view name, std::uint32_t usual,
                                              std::uint32_t most) {
  const std::string text = route.parameter(name);
  if (text.empty()) return usual;
  const auto value = number_in<std::uint32_t>(text);
  if (value && *value >= 1 && *value <= most) return *value;
  return tl::unexpected(
      not_sent(http_status::kBadRequest, fmt::format("{} must be a number from 1 to {}", name, most)));
}

tl::expected<SamplingRequest, Refusal> sampling_of(const Route& route) {
  ASSIGN_OR_RETURN(const auto frequency, count_in(route, "frequency", kFrequency, kMaxFrequency));
  ASSIGN_OR_RETURN(const auto seconds, count_in(route, "duration", kSeconds, kMaxSeconds));
  const std::string event = route.parameter("event");
  if (!event.empty() && event != "cpu" && event != "wall")
    return tl::unexpected(not_sent(http_status::kBadRequest, "event must be cpu or wall"));
  SamplingRequest request;
  request.event = event == "wall" ? SamplingEvent::wall : SamplingEvent::cpu;
  request.frequency = frequency;
  request.seconds = seconds;
  return request;
}

/// Ends the sampling once the caller sends a byte. The end of the caller's body has no meaning.
Task<void> stop_when_told(transport::Stream& caller, SamplerWork& sampling) {
  std::array<std::byte, 1> enough{};
  const Io said = co_await caller.read(enough);
  if (said.status == IoStatus::ok) sampling.stop();
}

/// Gives a reader the samples, and then the names of the methods in them. `methods` is null if the runtime
/// can't name any.
Task<void> feed_profile(transport::Loop& loop, Reading& reader, FdStream& samples, InnerRecording* methods) {
  const Reading::Passed passed = co_await reader.pass_on(samples, Reading::As::part);
  if (passed == Reading::Passed::failed) co_return reader.abort(samples.error());
  if (passed == Reading::Passed::not_taken) co_return;
  if (methods != nullptr) co_await pass_methods_on(loop, *methods, reader);
  co_await reader.finish();
}

/// Relays samples to the caller until their end, and counts them in `sent`.
Task<Result<void>> carry(FdStream& samples, transport::Stream& caller, std::uint64_t& sent) {
  std::vector<std::byte> piece(kSamplesPieceSize);
  for (;;) {
    const Io got = co_await samples.read(piece);
    if (got.status == IoStatus::failed) co_return tl::unexpected(samples.error());
    IoStatus written = IoStatus::ok;
    if (got.status == IoStatus::end) {
      written = co_await caller.finish();
    } else {
      written = co_await caller.write(std::span(piece).first(got.bytes));
    }
    if (written != IoStatus::ok) co_return tl::unexpected(caller.error());
    sent += got.bytes;
    if (got.status == IoStatus::end) co_return Result<void>();
  }
}

}  // namespace

ProfileRequests::ProfileRequests(transport::Loop& loop, Registry& registry,
                                 std::shared_ptr<const SamplerProcess> sampler, Readers readers,
                                 DiagnosticConnections& connections, Audit& audit, Metrics& metrics)
    : loop_(loop),
      registry_(registry),
      sampler_(std::move(sampler)),
      readers_(std::move(readers)),
      connections_(connections),
      audit_(audit),
      metrics_(metrics),
      memory_of_each_(std::clamp(memory_for_helpers() / profiles_at_once(), kMinMemory, kMaxMemory)),
      places_(profiles_at_once(), "takes", "profile") {}

Handled ProfileRequests::take(Answer& answer, Route route, const Caller& caller,
                              tl::expected<RuntimePtr, Refusal> runtime) {
  AuditEntry entry{"profile", caller};
  entry.command = auth::kProfile;
  std::optional<AuditOnExit> audited(std::in_place, audit_, entry, AuditOnExit::Clock::now());
  std::optional<Refusal> refused = decide(entry, runtime, authorize_profile);
  if (!refused) refused = co_await sample(answer, std::move(route), *runtime, entry);
  if (refused) entry.outcome = {entry.allowed ? Outcome::Kind::failed : Outcome::Kind::refused, refused->why};
  audited.reset();
  metrics_.profiles.add(entry.outcome.kind == Outcome::Kind::completed ? "completed" : "failed");
  co_return refused;
}

tl::expected<Places::Place, Refusal> ProfileRequests::take_place(const Caller& caller, uid_t user,
                                                                 std::uint32_t seconds) {
  auto place = places_.take(caller, user);
  if (place) return std::move(*place);
  Refusal many = not_sent(http_status::kTooManyRequests, place.error());
  many.retry_after = static_cast<int>(seconds);
  return tl::unexpected(std::move(many));
}

Handled ProfileRequests::sample(Answer& answer, Route route, RuntimePtr runtime, AuditEntry& entry) {
  auto sampling = sampling_of(route);
  if (!sampling) co_return sampling.error();
  sampling->kernel = may_profile_kernel(entry.caller, *runtime);
  const std::string format = route.parameter("format");
  const auto file = profile_file(format);
  if (!file) co_return not_sent(http_status::kBadRequest, file.error().message());
  entry.arguments = arguments_of(*sampling, format);
  auto place = take_place(entry.caller, runtime->user, sampling->seconds);
  if (!place) co_return place.error();
  if (!*file) {
    auto refused = co_await send_samples(answer, *sampling, std::move(runtime), entry);
    co_return refused;
  }
  const auto memory = co_await first_of(
      readers_.place_for(ReadingTask::Kind::profile, identity_key(entry.caller)), answer.gone());
  if (!memory) co_return caller_gone(entry);
  if (!*memory) co_return no_reader(memory->error());
  FileWanted wanted;
  wanted.reading = {
      {ReadingTask::Kind::profile, (**memory)->bytes(),
       processor_seconds_for(std::chrono::seconds(sampling->seconds)), (*file)->form, runtime->pid},
      runtime->name};
  wanted.content_type = (*file)->content_type;
  auto refused = co_await send_file(answer, *sampling, std::move(wanted), std::move(runtime), entry);
  co_return refused;
}

Task<tl::expected<std::unique_ptr<SamplerWork>, Refusal>> ProfileRequests::begin(const Runtime& runtime,
                                                                                 SamplingRequest wanted) {
  wanted.memory = memory_of_each_;
  auto sampling = SamplerWork::ask(loop_, registry_, sampler_.get(), runtime, wanted);
  if (!sampling) co_return tl::unexpected(not_sampled(sampling.error()));
  const auto begun = co_await (*sampling)->begin(runtime.name);
  if (!begun) co_return tl::unexpected(not_sampled(begun.error()));
  co_return std::move(*sampling);
}

Handled ProfileRequests::send_samples(Answer& answer, SamplingRequest wanted, RuntimePtr runtime,
                                      AuditEntry& entry) {
  const auto begun = co_await begin(*runtime, wanted);
  if (!begun) co_return begun.error();
  SamplerWork& sampling = **begun;
  transport::Stream& caller = answer.passed_on();
  send_head(answer, "application/octet-stream");
  entry.outcome = {};
  transport::TaskSet stopping(loop_);
  stopping.spawn(stop_when_told(caller, sampling));
  const auto guard = abort_when_gone(caller, sampling.stream());
  const Result<void> carried = co_await carry(sampling.stream(), caller, entry.to_tool);
  if (!carried) {
    entry.outcome = {Outcome::Kind::broken_off, carried.error().message()};
    caller.abort(carried.error());
  }
  co_return std::nullopt;
}

Handled ProfileRequests::send_file(Answer& answer, SamplingRequest wanted, FileWanted file,
                                   RuntimePtr runtime, AuditEntry& entry) {
  const auto taken = co_await begin(*runtime, wanted);
  if (!taken) co_return taken.error();
  SamplerWork& sampling = **taken;
  transport::Stream& caller = answer.passed_on();
  transport::TaskSet stopping(loop_);
  stopping.spawn(stop_when_told(caller, sampling));
  // A suspended runtime can't name its methods.
  const bool tells = runtime->state != RuntimeState::suspended;
  InnerRecording methods(loop_, connections_, entry.caller, std::move(runtime));
  AnswerFrom from;
  from.feed = [&](Reading& reader) {
    return feed_profile(loop_, reader, sampling.stream(), tells ? &methods : nullptr);
  };
  from.abandon = [&] {
    abort_for_gone_tool(sampling.stream());
    methods.abandon();
  };
  bool begun = false;
  std::function<void()> begin_answer = [&] {
    send_head(answer, file.content_type);
    begun = true;
  };
  AnswerTo to{caller, std::move(begin_answer), nullptr, &entry.to_tool};
  const auto answered = co_await answer_through_reader(loop_, *readers_.process, std::move(file.reading),
                                                       std::move(from), std::move(to));
  co_await methods.end();
  if (answered) {
    entry.outcome = {};
    co_return std::nullopt;
  }
  if (!begun && answered.error().cause != tool_is_gone().cause)
    co_return not_sent(http_status::kBadGateway, answered.error().message());
  entry.outcome = {Outcome::Kind::broken_off, answered.error().message()};
  co_return std::nullopt;
}

}  // namespace farport::router
