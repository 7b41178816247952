#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "router/agent/api/api.hpp"
#include "router/agent/gate/gate.hpp"
#include "router/wire/http_status.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

/// How many answers there are at once: their callers may be slow.
constexpr std::size_t kMaxAnswers = 4;
constexpr int kUntilRoom = 10;
constexpr std::uint32_t kUsualSeconds = 120;
constexpr std::uint32_t kMaxRecentSeconds = 24 * 60 * 60;

Refusal not_sent(int status, std::string why) {
  return {status, http_status::hresult_of(Cause::http(status)), std::move(why)};
}

Refusal busy(std::string why) {
  Refusal refusal = not_sent(http_status::kTooManyRequests, std::move(why));
  refusal.retry_after = kUntilRoom;
  return refusal;
}

/// A function of its own: GCC 12 destroys the elements of an initializer list twice in a coroutine.
void begin_recording(Response& response, const std::string& seconds) {
  response.send_head(http_status::kOk,
                     {{"content-type", "application/octet-stream"}, {"farport-recent-seconds", seconds}},
                     true);
}

/// Sends the file, and counts its bytes in `sent`.
Task<Result<void>> send_file(RecentFile file, transport::Stream& caller, std::uint64_t& sent) {
  for (;;) {
    const std::vector<std::byte> piece = file.next();
    IoStatus written = IoStatus::ok;
    if (piece.empty()) {
      written = co_await caller.finish();
    } else {
      written = co_await caller.write(piece);
    }
    if (written != IoStatus::ok) co_return tl::unexpected(caller.error());
    if (piece.empty()) co_return Result<void>();
    sent += piece.size();
  }
}

}  // namespace

RecentRequests::RecentRequests(FileOf file_of, Audit& audit)
    : file_of_(std::move(file_of)), audit_(audit), places_(kMaxAnswers, "sends", "recording") {}

Handled RecentRequests::take(Response& response, Route route, const Caller& caller,
                             tl::expected<RuntimePtr, Refusal> runtime) {
  AuditEntry entry{"recent", caller};
  entry.command = "recent";
  const AuditOnExit audited(audit_, entry, AuditOnExit::Clock::now());
  std::optional<Refusal> refused = decide(entry, runtime, authorize_recent);
  if (!refused) refused = co_await send(response, std::move(route), *runtime, entry);
  if (refused) entry.outcome = {entry.allowed ? Outcome::Kind::failed : Outcome::Kind::refused, refused->why};
  co_return refused;
}

Handled RecentRequests::send(Response& response, Route route, RuntimePtr runtime, AuditEntry& entry) {
  if (!file_of_)
    co_return not_sent(http_status::kNotFound,
                       "this agent keeps no recording of the past: start it with farport serve --recorder");
  const std::string asked = route.parameter("seconds");
  const auto seconds = asked.empty() ? kUsualSeconds : number_in<std::uint32_t>(asked);
  if (!seconds || *seconds < 1 || *seconds > kMaxRecentSeconds)
    co_return not_sent(http_status::kBadRequest,
                       fmt::format("seconds must be a number from 1 to {}", kMaxRecentSeconds));
  entry.arguments = fmt::format(R"({{"seconds":{}}})", *seconds);
  const auto place = places_.take(entry.caller);
  if (!place) co_return busy(place.error());
  const Clock::time_point now = Clock::now();
  auto file = file_of_(*runtime, now - std::chrono::seconds(*seconds));
  if (!file)
    co_return not_sent(http_status::kConflict,
                       fmt::format("nothing is recorded of {} yet: it was found a moment ago, or does not "
                                   "answer; see the agent's log",
                                   runtime->name));
  const auto reaches = std::chrono::ceil<std::chrono::seconds>(now - file->begun()).count();
  begin_recording(response, std::to_string(reaches));
  const Result<void> sent = co_await send_file(std::move(*file), response.stream(), entry.to_tool);
  entry.outcome = {};
  if (sent) co_return std::nullopt;
  entry.outcome = {Outcome::Kind::broken_off, sent.error().message()};
  response.stream().abort(sent.error());
  co_return std::nullopt;
}

}  // namespace farport::router
