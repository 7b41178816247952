#include "router/agent/connections/refused.hpp"

#include <cerrno>

#include "router/wire/pace_fields.hpp"
#include "router/wire/runtime_json.hpp"
#include "transport/task_set.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Http2Session;
using transport::Http2Stream;
using transport::Task;

/// How long a session that is refused lasts: to ask and to read the answer.
constexpr transport::Milliseconds kRefusing{3000};
/// Of one host that fail for one cause, logged and audited.
constexpr std::size_t kHandshakesAMinute = 10;
/// Of one identity, logged.
constexpr std::size_t kRefusalsAMinute = 10;
constexpr std::uint32_t kRefusedStreams = 16;
constexpr std::uint32_t kRefusedWindow = 64 * 1024;

/// A function of its own: GCC 12 destroys the elements of an initializer list twice in a coroutine.
transport::HeaderFields refused_fields(const Refusal& refusal, std::size_t size) {
  transport::HeaderFields fields{{"content-type", "application/json"},
                                 {"content-length", std::to_string(size)}};
  if (refusal.retry_after > 0) fields.emplace_back("retry-after", std::to_string(refusal.retry_after));
  const auto exactly = refusal.retry_after_exactly.count();
  if (exactly > 0) fields.emplace_back(pace_field::kRetryAfterMs, std::to_string(exactly));
  return fields;
}

Task<void> answer_and_forget(std::unique_ptr<Http2Stream> request, Refusal refusal) {
  PlainAnswer answer(*request);
  co_await answer_refused(answer, std::move(refusal));
}

}  // namespace

Refusal note_exceeded(AgentServices& services, const Caller& caller, const Exceeded& exceeded) {
  Refusal refusal = refusal_of(exceeded);
  services.metrics.refused.add(exceeded.limit);
  const std::string who = caller.identity ? describe(caller) : caller.address;
  const std::string kind = std::string(exceeded.limit) + " " + key_of(caller);
  if (!services.warnings.add(kind, "refused " + who + ": " + refusal.why)) return refusal;
  AuditEntry entry{"limit", caller};
  entry.outcome = refusal.why;
  services.audit.write(entry);
  return refusal;
}

void note_ended(AgentServices& services, const Caller& caller, const Exceeded& exceeded) {
  services.metrics.refused.add(exceeded.limit);
  services.log->info("ended {}: {} (limits.{})", caller, exceeded.message, exceeded.limit);
}

void note_failed_handshake(AgentServices& services, const Caller& caller, const std::string& why,
                           std::string_view kind) {
  services.metrics.handshakes_failed.add(kind);
  const std::string host = caller.address.substr(0, caller.address.rfind(':'));
  const std::string message = "refused " + caller.address + ": " + why;
  if (!services.warnings.add(host + " " + why, message, kHandshakesAMinute)) return;
  AuditEntry entry{"handshake", caller};
  entry.outcome = why;
  services.audit.write(entry);
}

void note_refused(AgentServices& services, const Caller& caller, const std::string& what,
                  const std::string& why) {
  if (!services.warnings.allows("refused " + key_of(caller), kRefusalsAMinute)) return;
  services.log->info("refused {} to {}: {}", what, caller, why);
}

Refusal note_no_role(AgentServices& services, const Caller& caller) {
  Refusal refused = no_role(caller);
  services.metrics.refused.add("no_role");
  if (!services.warnings.add("no_role " + key_of(caller), "refused " + caller.address + ": " + refused.why,
                             kRefusalsAMinute)) {
    return refused;
  }
  AuditEntry entry{"session", caller};
  entry.outcome = refused.why;
  services.audit.write(entry);
  return refused;
}

Task<void> answer_refused(Answer& answer, Refusal refusal) {
  const std::string body = error_json(refusal.why, refusal.hresult);
  answer.begin(refusal.status, refused_fields(refusal, body.size()), true);
  // The answer is over either way.
  std::ignore = co_await answer.stream().write_last(std::as_bytes(std::span(body)));
}

Task<void> turn_away(AgentServices& services, std::unique_ptr<transport::Stream> connection,
                     std::string why) {
  transport::Http2Limits limits;
  limits.share = services.strangers;
  Http2Session session(std::move(connection), Http2Session::Role::server, limits);
  session.turn_away(why);
  std::ignore = co_await session.run();
}

Task<void> refuse_session(AgentServices& services, std::unique_ptr<transport::Stream> connection,
                          const Caller& caller, Refusal refusal) {
  transport::TaskSet requests(services.loop);
  transport::Http2Limits limits;
  limits.streams = kRefusedStreams;
  limits.window = kRefusedWindow;
  limits.account = services.budget.account_of(key_of(caller));
  limits.share = services.strangers;
  Http2Session::RequestHandler refuse = [&](std::unique_ptr<Http2Stream> request) {
    requests.spawn(answer_and_forget(std::move(request), refusal));
  };
  Http2Session session(std::move(connection), Http2Session::Role::server, limits, std::move(refuse));
  const transport::Deadline end(services.loop, kRefusing, [&session, &refusal] {
    session.abort(Error{"go on with", "the session", refusal.why, {}, 0});
  });
  std::ignore = co_await session.run();
  co_await requests.idle();
}

}  // namespace farport::router
