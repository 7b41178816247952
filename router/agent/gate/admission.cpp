#include "router/agent/gate/admission.hpp"

#include <cerrno>

#include "router/agent/gate/command_arguments.hpp"
#include "router/wire/http_status.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using auth::limit_of;
using auth::LimitSettings;
using transport::Task;

/// The command as a label of metrics: the protocol's name, since numbers could be anything.
std::string_view label_of(ipc::Command command) {
  const std::string_view name = ipc::name_of(command);
  return name.empty() ? "unknown" : name;
}

}  // namespace

/// Past the limit the stream is left as it is, so that it can still be answered: `cause` is then ETIMEDOUT.
Task<Result<FirstMessage>> Admission::read_in_time(transport::Stream& stream,
                                                   transport::BufferBudget::LateHolding& counted) {
  auto first =
      co_await with_deadline(stream.loop(), read_first_message(stream, limits_.message_size, &counted),
                             limits_.first_message_timeout);
  if (first) co_return std::move(*first);
  const Error late{"read", "the first message", "it did not come whole in time", {}, ETIMEDOUT};
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
                                                   transport::BufferBudget::LateHolding& counted) {
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
  entry.arguments = telling_arguments(first->command(), first->payload());
  Decision decision = authorize(entry.caller, *entry.runtime, *first);
  if (!decision.allowed) {
    metrics_.commands_refused.add(label_of(first->command()));
    if (first->command() == ipc::kGenerateCoreDump3) tool.allow_text();
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
