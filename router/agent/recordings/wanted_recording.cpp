#include "router/agent/recordings/wanted_recording.hpp"

#include <algorithm>

#include "events/fields.hpp"
#include "router/readers/answers.hpp"
#include "router/wanted/recordings.hpp"
#include "router/wanted/providers.hpp"

namespace farport::router {
namespace {

using ReadKind = ReadingRequest::Kind;

/// dotnet-monitor's.
constexpr transport::Milliseconds kUsualDuration{30'000};
constexpr double kMostSeconds = 7.0 * 24 * 60 * 60;
constexpr std::uint32_t kTraceBufferMb = 256;
constexpr const char* kJsonLines = "application/x-ndjson";
constexpr const char* kJson = "application/json";

/// What stands between commas.
std::vector<std::string> list_of(std::string_view text) {
  std::vector<std::string> parts = split_list(text, [](char) { return false; });
  std::erase(parts, std::string());
  return parts;
}

/// "0.5"; `otherwise` where nothing is said.
Result<transport::Milliseconds> seconds_of(const std::string& name, const std::string& text,
                                           transport::Milliseconds otherwise) {
  if (text.empty()) return otherwise;
  const double seconds = events::number_in(text);
  // False, too, of what is no number.
  const bool is_time = seconds > 0 && seconds <= kMostSeconds;
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
  const auto rundown = truth_of("rundown", parameters("rundown"));
  if (!rundown) return tl::unexpected(rundown.error());
  auto recording = recording_of({parameters("profile")}, {parameters("providers")}, *rundown, kTraceBufferMb);
  if (!recording) return tl::unexpected(recording.error());
  return WantedRecording{std::move(*recording), kUsualDuration, std::nullopt, "application/octet-stream"};
}

Result<WantedRecording> counters_of(const Parameters& parameters, const Runtime& runtime) {
  const std::string names = parameters("counters");
  const auto selection = selection_named(names);
  if (!selection) return tl::unexpected(selection.error());
  CounterLimits limits;
  const auto interval = seconds_of("interval", parameters("interval"), limits.interval);
  if (!interval) return tl::unexpected(interval.error());
  limits.interval = *interval;
  auto recording = selection->wanted(runtime.version, limits);
  return WantedRecording{std::move(recording), kUsualDuration, ReadingRequest{{ReadKind::counters}, names},
                         kJsonLines};
}

Result<WantedRecording> logs_of(const Parameters& parameters, const Runtime& /*runtime*/) {
  auto recording = wanted_logs(parameters("level"), list_of(parameters("category")));
  if (!recording) return tl::unexpected(recording.error());
  return WantedRecording{std::move(*recording), kUsualDuration, ReadingRequest{{ReadKind::logs}}, kJsonLines};
}

Result<WantedRecording> exceptions_of(const Parameters& /*parameters*/, const Runtime& /*runtime*/) {
  auto recording = wanted_exceptions();
  // Which names the methods on the stacks.
  recording.rundown = true;
  return WantedRecording{std::move(recording), kUsualDuration, ReadingRequest{{ReadKind::exceptions}},
                         kJsonLines};
}

Result<WantedRecording> stacks_of(const Parameters& /*parameters*/, const Runtime& /*runtime*/) {
  return WantedRecording{wanted_samples(), kStacksTime, ReadingRequest{{ReadKind::stacks}}, kJson};
}

Result<WantedRecording> gcdump_of(const Parameters& /*parameters*/, const Runtime& runtime) {
  return WantedRecording{wanted_heap(runtime.version), kUsualDuration,
                         ReadingRequest{{ReadKind::heap}, runtime.name}, kJson};
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
  auto wanted = known->made(parameters, runtime);
  if (!wanted) return wanted;
  const auto duration = seconds_of("seconds", parameters("seconds"), wanted->duration);
  if (!duration) return tl::unexpected(duration.error());
  wanted->duration = *duration;
  return wanted;
}

}  // namespace farport::router
