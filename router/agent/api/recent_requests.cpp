#include "router/agent/api/recent_requests.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/text.hpp"
#include "router/agent/gate/gate.hpp"
#include "router/readers/answers.hpp"
#include "router/readers/reading.hpp"
#include "router/wire/http_status.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

/// How many answers there are at once: their callers may be slow.
constexpr std::size_t kMaxAnswers = 4;
constexpr int kUntilRoom = 10;
/// Joining 8 MiB of compressed blocks takes less than a second.
constexpr std::uint32_t kJoinSeconds = 60;
constexpr std::uint32_t kUsualSeconds = 120;
constexpr std::uint32_t kMaxRecentSeconds = 24 * 60 * 60;

Refusal busy(std::string why) {
  Refusal refusal = not_sent(http_status::kTooManyRequests, std::move(why));
  refusal.retry_after = kUntilRoom;
  return refusal;
}

/// A function of its own: GCC 12 destroys the elements of an initializer list twice in a coroutine.
std::vector<NextPiece> parts_of(RecentRequests::Sources sources) {
  std::vector<NextPiece> parts{std::move(sources.events), std::move(sources.samples)};
  for (NextPiece& each : sources.names) parts.push_back(std::move(each));
  return parts;
}

/// A function of its own: GCC 12 destroys the elements of an initializer list twice in a coroutine.
/// `names`: whether the recording has those of methods: "yes", "no", or "busy" if it may have them later.
/// `lost`: what else there is of it, and may be had later.
void begin_recording(Answer& answer, const std::string& seconds, const char* names, const char* lost) {
  transport::HeaderFields fields{{"content-type", "application/octet-stream"},
                                 {"farport-recent-seconds", seconds},
                                 {"farport-recent-names", names}};
  if (*lost != '\0') fields.emplace_back(kRecentLost, lost);
  answer.begin(std::move(fields));
}

template <typename File>
Task<Result<std::vector<std::byte>>> next_of(std::shared_ptr<File> file) {
  co_return file->next();
}

template <typename File>
NextPiece pieces_of(File file) {
  return [file = std::make_shared<File>(std::move(file))] { return next_of(file); };
}

/// Passes a recording to a reader, if there is one. Returns whether the reader takes more.
Task<Result<bool>> pass_recording(Reading& reading, NextPiece next, Reading::As as) {
  for (bool is_over = false; !is_over;) {
    std::vector<std::byte> piece;
    if (next) {
      CO_ASSIGN_OR_RETURN(piece, co_await next());
    }
    is_over = piece.empty();
    if (is_over && as == Reading::As::rest) break;
    IoStatus written = IoStatus::ok;
    if (as == Reading::As::rest) {
      written = co_await reading.write(piece);
    } else {
      written = co_await reading.write_piece(piece);
    }
    if (written != IoStatus::ok) co_return false;
  }
  co_return true;
}

/// Passes to a reader what it joins. There may be fewer parts than it takes.
Task<void> feed_parts(Reading& reading, std::vector<NextPiece> parts) {
  parts.resize(kJoinedParts);
  for (std::size_t at = 0; at < parts.size(); ++at) {
    const auto as = at + 1 == parts.size() ? Reading::As::rest : Reading::As::part;
    const auto passed = co_await pass_recording(reading, std::move(parts[at]), as);
    if (!passed) co_return reading.abort(passed.error());
    // If it takes no more, its answer says why.
    if (!*passed) co_return;
  }
  co_await reading.finish();
}

}  // namespace

RecentRequests::RecentRequests(transport::Loop& loop, FilesOf files_of, Readers readers, Log log,
                               Audit& audit)
    : loop_(loop),
      log_(std::move(log)),
      files_of_(std::move(files_of)),
      readers_(std::move(readers)),
      audit_(audit),
      places_(kMaxAnswers, "sends", "recording") {}

Handled RecentRequests::take(Answer& answer, Route route, const Caller& caller,
                             tl::expected<RuntimePtr, Refusal> runtime) {
  AuditEntry entry{"recent", caller};
  entry.command = "recent";
  const AuditOnExit audited(audit_, entry, AuditOnExit::Clock::now());
  std::optional<Refusal> refused = decide(entry, runtime, authorize_recent);
  if (!refused) refused = co_await send(answer, std::move(route), *runtime, entry);
  if (refused) entry.outcome = {entry.allowed ? Outcome::Kind::failed : Outcome::Kind::refused, refused->why};
  co_return refused;
}

Handled RecentRequests::send(Answer& answer, Route route, RuntimePtr runtime, AuditEntry& entry) {
  if (!files_of_)
    co_return not_sent(http_status::kNotFound,
                       "this agent keeps no recording of the past: start it with farport serve --recorder");
  const std::string asked = route.parameter("seconds");
  const auto seconds = asked.empty() ? kUsualSeconds : number_in<std::uint32_t>(asked);
  if (!seconds || *seconds < 1 || *seconds > kMaxRecentSeconds)
    co_return not_sent(http_status::kBadRequest,
                       fmt::format("seconds must be a number from 1 to {}", kMaxRecentSeconds));
  const auto place = places_.take(entry.caller, runtime->user);
  if (!place) co_return busy(place.error());
  const Clock::time_point now = Clock::now();
  // They show what a profile does.
  const bool with_samples = authorize_profile(entry.caller, *runtime).allowed;
  entry.arguments = fmt::format(R"({{"seconds":{},"samples":{}}})", *seconds, with_samples);
  auto files = co_await files_of_(*runtime, now - std::chrono::seconds(*seconds), with_samples);
  if (!files)
    co_return not_sent(http_status::kConflict,
                       fmt::format("nothing is recorded of {} yet: it was found a moment ago, is suspended, "
                                   "or does not answer; see the agent's log",
                                   runtime->name));
  const auto reaches = std::chrono::ceil<std::chrono::seconds>(now - files->events.begun()).count();
  // A runtime that runs is asked by the caller for what is missing.
  if (!files->all_named) files->names.clear();
  MakeSources make = [&files] {
    Sources sources{pieces_of(files->events)};
    if (!files->samples.empty()) sources.samples = pieces_of(files->samples);
    for (const RecentFile& names : files->names) sources.names.push_back(pieces_of(names));
    return sources;
  };
  co_await send_recordings(answer, std::move(make), std::to_string(reaches), entry);
  co_return std::nullopt;
}

Task<Result<void>> RecentRequests::send_joined(Answer& answer, Sources sources, Said said, AuditEntry& entry,
                                               bool& begun) {
  const char* const names = sources.names.empty() ? "no" : "yes";
  std::vector<NextPiece> parts = parts_of(std::move(sources));
  ReadingRequest wanted;
  wanted.kind = ReadingTask::Kind::joined;
  auto place = co_await first_of(readers_.place_for(wanted.kind, identity_key(entry.caller)), answer.gone());
  if (!place) co_return fail("send", "the recording", "the caller has gone");
  if (!*place) co_return tl::unexpected(place->error());
  wanted.memory_bytes = (**place)->bytes();
  wanted.processor_seconds = kJoinSeconds;
  AnswerFrom from{[&parts](Reading& reading) { return feed_parts(reading, parts); }, [] {}};
  AnswerTo to{answer.passed_on(), [&] {
                begun = true;
                begin_recording(answer, said.seconds, names, said.lost);
              }};
  to.sent = &entry.to_tool;
  auto sent = co_await answer_through_reader(loop_, *readers_.process, std::move(wanted), std::move(from),
                                             std::move(to));
  co_return sent;
}

Task<void> RecentRequests::send_recordings(Answer& answer, MakeSources make, std::string seconds,
                                           AuditEntry& entry) {
  Result<void> sent;
  bool begun = false;
  const char* names = "no";
  const char* lost = "";
  constexpr std::array kWithSamples{true, false};
  for (const bool with_samples : kWithSamples) {
    if (begun) break;
    Sources sources = make();
    if (with_samples && !sources.samples) continue;
    if (!with_samples) sources.samples = {};
    if (!sources.samples && sources.names.empty()) continue;
    if (!sources.names.empty()) names = "busy";
    Said said{seconds, lost};
    sent = co_await send_joined(answer, std::move(sources), std::move(said), entry, begun);
    // Better so than not at all.
    if (!sent && !begun) lost = with_samples ? "samples" : lost;
    if (!sent && !begun)
      log_->warn("a recording goes to {} without {}: {}", entry.caller,
                 with_samples ? "samples" : "names of methods", sent.error().message());
  }
  if (!begun) {
    begin_recording(answer, seconds, names, lost);
    sent = co_await send_all(make().events, answer, entry.to_tool);
  }
  note_outcome(sent, answer, entry);
}

Handled RecentRequests::send_crash(Answer& answer, const FilePlace& file_place, Artifacts::Opened opened,
                                   const Artifact& crash, AuditEntry& entry) {
  const auto place = places_.take(entry.caller, crash.runtime.user);
  if (!place) co_return busy(place.error());
  const bool with_samples = authorize_profile(entry.caller, crash.runtime).allowed;
  MakeSources make = [this, &file_place, files = std::move(opened), with_samples] {
    Sources sources{pieces_of_file(loop_, file_place, files.events)};
    if (files.samples && with_samples) sources.samples = pieces_of_file(loop_, file_place, files.samples);
    for (const auto& names : files.names) sources.names.push_back(pieces_of_file(loop_, file_place, names));
    return sources;
  };
  co_await send_recordings(answer, std::move(make), std::to_string(crash.seconds), entry);
  co_return std::nullopt;
}

}  // namespace farport::router
