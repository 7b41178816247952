#include "router/agent/api/profile_requests.hpp"

#include <array>
#include <cerrno>
#include <charconv>

#include <fmt/core.h>

#include "router/agent/gate/gate.hpp"
#include "router/agent/runtimes/process_exit.hpp"
#include "router/wire/http_status.hpp"
#include "transport/race.hpp"
#include "transport/task_set.hpp"

namespace farport::router {
namespace {

using transport::FdStream;
using transport::Io;
using transport::IoStatus;
using transport::Task;

/// That are under way at once: each takes memory that the kernel gives a user little of.
constexpr std::size_t kMostProfiles = 4;
/// Of one identity, so that it leaves room for others.
constexpr std::size_t kMostOfOne = 2;
constexpr std::uint32_t kFrequency = 99;
constexpr std::uint32_t kMostFrequency = 1000;
constexpr std::uint32_t kSeconds = 10;
constexpr std::uint32_t kMostSeconds = 3600;
/// Until it is known whether the kernel samples.
constexpr transport::Milliseconds kBeginLimit{10'000};
constexpr std::size_t kMostRefusal = 4096;
constexpr std::size_t kSamplesPieceSize = 16 * 1024;

Refusal no_profile(int status, std::string why) {
  return {status, http_status::hresult_of(Cause::http(status)), std::move(why)};
}

/// A function of its own: GCC 12 destroys the elements of an initializer list twice in a coroutine.
void begin_answer(Response& response, const std::optional<ProfileFile>& file) {
  const std::string type = file ? file->content_type : "application/octet-stream";
  response.send_head(http_status::kOk, {{"content-type", type}}, true);
}

std::string arguments_of(const SamplingRequest& wanted, const std::string& format) {
  const std::string form = format.empty() ? "" : fmt::format(R"(,"format":"{}")", format);
  return fmt::format(R"({{"frequency":{},"duration":{},"kernel":{}{}}})", wanted.frequency, wanted.seconds,
                     wanted.kernel, form);
}

/// A number from 1 to `most`, or `usual` where none is given.
tl::expected<std::uint32_t, Refusal> number_in(const Route& route, std::string_view name, std::uint32_t usual,
                                               std::uint32_t most) {
  const std::string text = route.parameter(name);
  if (text.empty()) return usual;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 1 && value <= most) return value;
  return tl::unexpected(
      no_profile(http_status::kBadRequest, fmt::format("{} must be a number from 1 to {}", name, most)));
}

tl::expected<SamplingRequest, Refusal> sampling_of(const Route& route) {
  const auto frequency = number_in(route, "frequency", kFrequency, kMostFrequency);
  if (!frequency) return tl::unexpected(frequency.error());
  const auto seconds = number_in(route, "duration", kSeconds, kMostSeconds);
  if (!seconds) return tl::unexpected(seconds.error());
  SamplingRequest request;
  request.frequency = *frequency;
  request.seconds = *seconds;
  return request;
}

/// What the sampler says first: nothing where it samples, else why it doesn't. `name`: the runtime's.
Task<std::optional<Refusal>> await_start(FdStream& samples, std::string name) {
  std::string said(1, '\0');
  const Io first = co_await samples.read(std::as_writable_bytes(std::span(said)));
  if (first.status != IoStatus::ok) {
    co_return no_profile(http_status::kBadGateway, "the process that samples others has ended");
  }
  if (said[0] == kSampling) co_return std::nullopt;
  std::string text(kMostRefusal, '\0');
  const Io rest = co_await samples.read_exactly(std::as_writable_bytes(std::span(text)));
  text.resize(rest.bytes);
  const std::size_t zero = std::min(text.find('\0'), text.size());
  const Error error{"profile", std::move(name), text.substr(0, zero),
                    text.substr(std::min(zero + 1, text.size())), 0};
  co_return no_profile(http_status::kNotImplemented, error.message());
}

/// Ends the sampling once the caller has said anything; that it says nothing more means nothing.
Task<void> stop_when_told(transport::Stream& caller, UniqueFd& control) {
  std::array<std::byte, 1> enough{};
  const Io said = co_await caller.read(enough);
  if (said.status == IoStatus::ok) control.reset();
}

/// Carries samples to the caller until their end; `sent`: counts them.
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

Handled ProfileRequests::take(Response& response, Route route, const Caller& caller,
                              tl::expected<RuntimePtr, Refusal> runtime) {
  AuditEntry entry{"profile", caller};
  entry.command = auth::kProfile;
  if (runtime) entry.runtime = *runtime;
  std::optional<Refusal> refused;
  std::optional<AuditOnExit> audited(std::in_place, audit_, entry, AuditOnExit::Clock::now());
  if (!runtime) refused = runtime.error();
  if (runtime) {
    const Decision decision = authorize_profile(caller, **runtime);
    entry.allowed = decision.allowed;
    entry.rule = decision.rule;
    entry.role = decision.role;
    if (!decision.allowed) refused = decision.refusal;
  }
  if (!refused) refused = co_await sample(response, std::move(route), *runtime, entry);
  if (refused) entry.outcome = {entry.allowed ? Outcome::Kind::failed : Outcome::Kind::refused, refused->why};
  audited.reset();
  metrics_.profiles.add(entry.outcome.kind == Outcome::Kind::completed ? "completed" : "failed");
  co_return refused;
}

tl::expected<SamplingEnds, Refusal> ProfileRequests::begin(const Runtime& runtime,
                                                           const SamplingRequest& wanted) const {
  const auto failed = [&](std::string_view why) {
    return tl::unexpected(
        no_profile(http_status::kBadGateway, fmt::format("cannot profile {}: {}", runtime.name, why)));
  };
  if (sampler_ == nullptr) return failed("the agent could start no process that samples others");
  const DiagnosticPort* const port = registry_.port(runtime.id);
  if (port == nullptr) return failed("it has ended");
  SamplingRequest request = wanted;
  request.process = port->process().pid;
  request.user = port->process().uid;
  if (request.process <= 0)
    return failed(
        "its process is not visible to the agent; share its pid namespace with it (in a pod: "
        "shareProcessNamespace)");
  const UniqueFd process = open_pidfd(request.process);
  // Another process may have its pid by now.
  if (!process || start_of(request.process) != port->process_start()) return failed("it has ended");
  auto ends = sampler_->begin(request, process);
  if (!ends) return failed(ends.error().message());
  return std::move(*ends);
}

tl::expected<ProfileRequests::Place, Refusal> ProfileRequests::take_place(const Caller& caller,
                                                                          std::uint32_t seconds) {
  std::erase_if(under_way_of_, [](const auto& each) { return *each.second == 0; });
  auto& theirs = under_way_of_[identity_key(caller)];
  if (theirs == nullptr) theirs = std::make_shared<std::size_t>(0);
  const bool all = *under_way_ >= kMostProfiles;
  if (!all && *theirs < kMostOfOne) return Place{CountedSlot(under_way_), CountedSlot(theirs)};
  Refusal many = no_profile(http_status::kTooManyRequests,
                            all ? fmt::format("the agent takes {} profiles already", kMostProfiles)
                                : fmt::format("the agent takes {} profiles for you already", kMostOfOne));
  many.retry_after = static_cast<int>(seconds);
  return tl::unexpected(std::move(many));
}

Handled ProfileRequests::sample(Response& response, Route route, RuntimePtr runtime, AuditEntry& entry) {
  auto wanted = sampling_of(route);
  if (!wanted) co_return wanted.error();
  wanted->kernel = may_profile_kernel(entry.caller, *runtime);
  const std::string format = route.parameter("format");
  const auto file = profile_file(format);
  if (!file) co_return no_profile(http_status::kBadRequest, file.error().message());
  entry.arguments = arguments_of(*wanted, format);
  const auto place = take_place(entry.caller, wanted->seconds);
  if (!place) co_return place.error();
  auto ends = begin(*runtime, *wanted);
  if (!ends) co_return ends.error();
  FdStream samples(loop_, std::move(ends->samples), "the samples");
  const auto started = co_await with_deadline(loop_, await_start(samples, runtime->name), kBeginLimit);
  if (!started) co_return no_profile(http_status::kBadGateway, "the sampler does not answer");
  if (*started) co_return **started;
  transport::Stream& caller = response.stream();
  begin_answer(response, *file);
  entry.outcome = {};
  transport::TaskSet stopping(loop_);
  stopping.spawn(stop_when_told(caller, ends->control));
  const transport::WhenGone abandon(caller, [&samples] {
    samples.abort(Error{"profile", "for a caller", "it is gone", {}, ECANCELED});
  });
  Result<void> carried;
  if (*file) {
    carried = co_await answer_with(**file, samples, caller, std::move(runtime), entry);
  } else {
    carried = co_await carry(samples, caller, entry.to_tool);
  }
  if (!carried) {
    entry.outcome = {Outcome::Kind::broken_off, carried.error().message()};
    caller.abort(carried.error());
  }
  co_return std::nullopt;
}

Task<Result<void>> ProfileRequests::answer_with(ProfileFile file, FdStream& samples,
                                                transport::Stream& caller, RuntimePtr runtime,
                                                AuditEntry& entry) {
  std::function<Task<Result<void>>(events::MethodTable&)> names = [&](events::MethodTable& to) {
    return read_methods(loop_, connections_, entry.caller, runtime, to);
  };
  const auto text = co_await make_profile_file(loop_, samples, std::move(file), runtime, std::move(names));
  if (!text) co_return tl::unexpected(text.error());
  IoStatus written = co_await caller.write(std::as_bytes(std::span(*text)));
  if (written == IoStatus::ok) written = co_await caller.finish();
  if (written != IoStatus::ok) co_return tl::unexpected(caller.error());
  entry.to_tool = text->size();
  co_return Result<void>();
}

}  // namespace farport::router
