#include "router/agent/gate/admission.hpp"

#include <cerrno>

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "ipc/event_pipe.hpp"
#include "ipc/payload.hpp"
#include "router/wire/http_status.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using nlohmann::json;

json of(const ipc::CollectTracing& trace) {
  json providers = json::array();
  // In the format of dotnet-trace's --providers option.
  for (const ipc::Provider& provider : trace.providers) {
    providers.push_back(fmt::format("{}:0x{:x}:{}", provider.name, provider.keywords, provider.level));
  }
  json object = {{"providers", providers}, {"rundown", trace.rundown}};
  if (trace.buffer_mode == ipc::BufferMode::block) object["blocking"] = true;
  if (trace.session_type == ipc::SessionType::user_events) object["user_events"] = true;
  return object;
}

json of(const ipc::GenerateCoreDump& dump) {
  return {{"path", dump.path}, {"type", ipc::name_of(dump.type)}, {"flags", dump.flags}};
}
json of(const ipc::SessionId& session) {
  return {{"session", fmt::format("0x{:x}", session.value)}};
}
json of(const ipc::SetEnvironmentVariable& variable) {
  return {{"variable", variable.name}, {"removed", !variable.value.has_value()}};
}
json of(const ipc::EnablePerfMap& map) {
  return {{"type", static_cast<std::uint32_t>(map.type)}};
}
json of(const ipc::ApplyStartupHook& hook) {
  return {{"path", hook.path}};
}
json of(const ipc::AttachProfiler& profiler) {
  return {{"profiler", profiler.profiler.to_string()}, {"path", profiler.path}};
}
json of(const ipc::StartupProfiler& profiler) {
  return {{"profiler", profiler.profiler.to_string()}, {"path", profiler.path}};
}

template <typename Arguments>
json of(const Result<Arguments>& decoded) {
  return decoded ? of(*decoded) : json{{"unreadable", decoded.error().why}};
}

json arguments_of(ipc::Command command, ipc::BytesView payload) {
  if (ipc::is_collect_tracing(command)) return of(ipc::CollectTracing::decode(command, payload));
  if (ipc::is_core_dump(command)) return of(ipc::GenerateCoreDump::decode(payload));
  if (command == ipc::kStopTracing) return of(ipc::SessionId::decode(payload));
  if (command == ipc::kSetEnvironmentVariable) return of(ipc::SetEnvironmentVariable::decode(payload));
  if (command == ipc::kEnablePerfMap) return of(ipc::EnablePerfMap::decode(payload));
  if (command == ipc::kApplyStartupHook) return of(ipc::ApplyStartupHook::decode(payload));
  if (command == ipc::kAttachProfiler) return of(ipc::AttachProfiler::decode(payload));
  if (command == ipc::kStartupProfiler) return of(ipc::StartupProfiler::decode(payload));
  return {};
}

}  // namespace

std::string audit_arguments(ipc::Command command, ipc::BytesView payload) {
  const json arguments = arguments_of(command, payload);
  return arguments.is_null() ? std::string() : arguments.dump(-1, ' ', true, json::error_handler_t::replace);
}

namespace {

/// Failed handshakes logged and audited per minute, for one host and one cause.
constexpr std::size_t kHandshakesAMinute = 10;
/// Refusals logged per minute, for one identity.
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

namespace {

using auth::limit_of;
using auth::LimitSettings;
using transport::Task;

/// The command's label in metrics: the protocol's name. A command without a name is "unknown", since its
/// numbers come from the peer and would make any number of labels.
std::string_view label_of(ipc::Command command) {
  const std::string_view name = ipc::name_of(command);
  return name.empty() ? "unknown" : name;
}

}  // namespace

/// Fails with `cause` ETIMEDOUT once the time is over. The stream is not aborted then, so that the tool can
/// still be answered.
Task<Result<FirstMessage>> Admission::read_in_time(transport::Stream& stream,
                                                   transport::BufferBudget::LazyReservation& counted) {
  auto first =
      co_await with_deadline(stream.loop(), read_first_message(stream, limits_.message_size, &counted),
                             limits_.first_message_timeout);
  if (first) co_return std::move(*first);
  const Error late{"read", "the first message", "it did not arrive completely in time", {}, Cause(ETIMEDOUT)};
  co_return tl::unexpected(late);
}

Refusal Admission::refusal_of(const Error& unreadable) {
  if (unreadable.cause == ETIMEDOUT) {
    metrics_.refused.add(limit_of(&LimitSettings::first_message_timeout).name());
    return {http_status::kRequestTimeout, ipc::hresult::kFail, unreadable.message()};
  }
  if (unreadable.cause == EMSGSIZE) {
    metrics_.refused.add(limit_of(&LimitSettings::message_size).name());
    return {http_status::kContentTooLarge, ipc::hresult::kInvalidArgument, unreadable.message()};
  }
  const bool malformed = unreadable.cause == EBADMSG;
  return {http_status::kBadRequest, malformed ? ipc::hresult::kBadEncoding : ipc::hresult::kFail,
          unreadable.message()};
}

Task<void> Admission::refuse(AuditEntry& entry, ToolEndpoint& tool, Refusal refusal) {
  std::string what = entry.command.empty() ? "a connection" : entry.command;
  if (entry.runtime != nullptr) what += " on " + entry.runtime->name;
  refusals_.refused(entry.caller, what, refusal.why);
  entry.outcome = {Outcome::Kind::refused, refusal.why};
  audit_.write(entry);
  co_await tool.refuse(std::move(refusal));
}

Task<std::optional<FirstMessage>> Admission::admit(AuditEntry& entry, ToolEndpoint& tool,
                                                   const Refusal* unknown,
                                                   transport::BufferBudget::LazyReservation& counted) {
  if (unknown != nullptr) {
    co_await refuse(entry, tool, *unknown);
    co_return std::nullopt;
  }
  auto first = co_await read_in_time(tool.stream(), counted);
  if (!first) {
    co_await refuse(entry, tool, refusal_of(first.error()));
    co_return std::nullopt;
  }
  entry.command = ipc::describe(first->command());
  entry.arguments = audit_arguments(first->command(), first->payload());
  Decision decision = authorize(entry.caller, *entry.runtime, *first);
  if (!decision.allowed) {
    metrics_.commands_refused.add(label_of(first->command()));
    if (first->command() == ipc::kGenerateCoreDump3) tool.enable_error_text();
    co_await refuse(entry, tool, std::move(decision.refusal));
    co_return std::nullopt;
  }
  metrics_.commands_allowed.add(label_of(first->command()));
  entry.allowed = true;
  entry.rule = std::move(decision.rule);
  entry.role = std::move(decision.role);
  co_return std::move(*first);
}

}  // namespace farport::router
