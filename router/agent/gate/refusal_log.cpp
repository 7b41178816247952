#include "router/agent/gate/refusal_log.hpp"

namespace farport::router {
namespace {

/// Of one host that fail for one cause, logged and audited.
constexpr std::size_t kHandshakesAMinute = 10;
/// Of one identity, logged.
constexpr std::size_t kRefusalsAMinute = 10;

}  // namespace

void RefusalLog::audit(std::string_view event, const Caller& caller, std::string why) {
  AuditEntry entry{event, caller};
  entry.outcome = {Outcome::Kind::refused, std::move(why)};
  audit_.write(entry);
}

Refusal RefusalLog::limit_reached(const Caller& caller, const LimitExceeded& exceeded) {
  Refusal refusal = refusal_of(exceeded);
  metrics_.refused.add(exceeded.limit->name());
  const std::string who = caller.identity ? describe(caller) : caller.address;
  const std::string kind = std::string(exceeded.limit->name()) + " " + identity_key(caller);
  if (warnings_.add(kind, "refused " + who + ": " + refusal.why)) audit("limit", caller, refusal.why);
  return refusal;
}

void RefusalLog::ended(const Caller& caller, const LimitExceeded& exceeded) {
  metrics_.refused.add(exceeded.limit->name());
  log_->info("ended {}: {} ({})", caller, exceeded.message, exceeded.limit->key);
}

void RefusalLog::handshake_failed(const Caller& caller, const std::string& why, std::string_view kind) {
  metrics_.handshakes_failed.add(kind);
  const std::string host = caller.address.substr(0, caller.address.rfind(':'));
  const std::string message = "refused " + caller.address + ": " + why;
  if (warnings_.add(host + " " + why, message, kHandshakesAMinute)) audit("handshake", caller, why);
}

void RefusalLog::refused(const Caller& caller, const std::string& what, const std::string& why) {
  if (!warnings_.allows("refused " + identity_key(caller), kRefusalsAMinute)) return;
  log_->info("refused {} to {}: {}", what, caller, why);
}

Refusal RefusalLog::no_role(const Caller& caller) {
  Refusal refusal = router::no_role(caller);
  metrics_.refused.add("no_role");
  const std::string message = "refused " + caller.address + ": " + refusal.why;
  if (warnings_.add("no_role " + identity_key(caller), message, kRefusalsAMinute))
    audit("session", caller, refusal.why);
  return refusal;
}

void RefusalLog::distrusted(const Caller& caller, const Error& why) {
  log_->warn("ended the session of {}: {}", caller, why.why);
  audit("session", caller, why.why);
}

}  // namespace farport::router
