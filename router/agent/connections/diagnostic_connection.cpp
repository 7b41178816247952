#include "router/agent/connections/diagnostic_connection.hpp"

#include <cerrno>

#include "router/agent/connections/refused.hpp"
#include "router/agent/gate/command_arguments.hpp"
#include "router/stream/compressing_stream.hpp"
#include "router/stream/relay.hpp"
#include "router/wire/http_status.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

/// Reads the first message within the limit. Past it the stream is left as it is, so that it can still be
/// answered: `code` is then ETIMEDOUT.
Task<Result<FirstMessage>> read_in_time(AgentServices& services, transport::Stream& stream) {
  std::optional<Result<FirstMessage>> first;
  transport::Event read(services.loop);
  Task<void> reading = [](transport::Stream& from, std::uint64_t max_size,
                          std::optional<Result<FirstMessage>>& into, transport::Event& done) -> Task<void> {
    into = co_await read_first_message(from, max_size);
    done.set();
  }(stream, services.limits.settings().message_bytes, first, read);
  reading.start();
  // Mostly it came together with the connection.
  if (!first) {
    const transport::Deadline limit(services.loop, services.limits.settings().first_message,
                                    [&] { read.set(); });
    co_await read.wait();
  }
  if (first) co_return std::move(*first);
  const Error late{"read", "the first message", "it did not come whole in time", {}, ETIMEDOUT};
  co_return tl::unexpected(late);
}

Refusal refusal_of(AgentServices& services, const Error& unreadable) {
  if (unreadable.code == ETIMEDOUT) {
    services.metrics.refused.add("first_message_timeout");
    return {http_status::kRequestTimeout, ipc::hresult::kFail, unreadable.message()};
  }
  if (unreadable.code == EMSGSIZE) {
    services.metrics.refused.add("message_size");
    return {http_status::kContentTooLarge, ipc::hresult::kInvalidArgument, unreadable.message()};
  }
  const bool malformed = unreadable.code == EBADMSG;
  return {http_status::kBadRequest, malformed ? ipc::hresult::kBadEncoding : ipc::hresult::kFail,
          unreadable.message()};
}

Refusal unreachable(const Error& error) {
  return {http_status::kBadGateway, ipc::hresult::kFail, error.message()};
}

/// Waits for the runtime's first bytes, so that the answer's head goes out with them in one record. The
/// session that they tell of, if `starts_session` and they do.
Task<std::optional<ipc::SessionId>> until_answered(transport::Stream& tool, transport::FdStream& runtime,
                                                   bool starts_session) {
  const AbortWhenGone guard(tool, runtime);
  if (starts_session) {
    const auto session = co_await answered_session(runtime);
    co_return session;
  }
  co_await runtime.readable();
  co_return std::nullopt;
}

/// Adds what a relay has carried to what the audit says, however the relay ends.
struct Carried {
  AuditEntry& entry;
  Traffic::Relay relay;

  ~Carried() {
    entry.to_runtime += relay.bytes.to_runtime;
    entry.to_tool += relay.bytes.to_tool;
  }
};

/// The command as a label of metrics: the protocol's name, since numbers could be anything.
std::string_view label_of(ipc::Command command) {
  const std::string_view name = ipc::name_of(command);
  return name.empty() ? "unknown" : name;
}

Task<void> refuse(AgentServices& services, AuditEntry& entry, ToolEnd& tool, Refusal refusal) {
  std::string what = entry.command.empty() ? "a connection" : entry.command;
  if (entry.runtime != nullptr) what += " on " + entry.runtime->name;
  note_refused(services, entry.caller, what, refusal.why);
  entry.outcome = refusal.why;
  services.audit.write(entry);
  co_await tool.refuse(std::move(refusal));
}

/// The first message, if there is a runtime for it, it comes, can be read and may pass; otherwise the tool is
/// told. `unknown`: why there is no runtime; nullptr where there is one.
Task<std::optional<FirstMessage>> admit(AgentServices& services, AuditEntry& entry, ToolEnd& tool,
                                        const Refusal* unknown) {
  if (unknown != nullptr) {
    co_await refuse(services, entry, tool, *unknown);
    co_return std::nullopt;
  }
  auto first = co_await read_in_time(services, tool.stream());
  if (!first) {
    co_await refuse(services, entry, tool, refusal_of(services, first.error()));
    co_return std::nullopt;
  }
  entry.command = ipc::describe(first->command());
  entry.arguments = telling_arguments(first->command(), first->payload());
  Ruling ruling = rule_on(entry.caller, *entry.runtime, *first);
  if (!ruling.allowed) {
    services.metrics.commands_refused.add(label_of(first->command()));
    if (first->command() == ipc::kGenerateCoreDump3) tool.allow_text();
    co_await refuse(services, entry, tool, std::move(ruling.refusal));
    co_return std::nullopt;
  }
  services.metrics.commands_allowed.add(label_of(first->command()));
  entry.allowed = true;
  entry.rule = std::move(ruling.rule);
  entry.role = std::move(ruling.role);
  co_return std::move(*first);
}

/// The runtime's end, which has been sent the message; nullptr where it can't be reached: the tool is told.
Task<std::unique_ptr<transport::FdStream>> open_for(AgentServices& services, AuditEntry& entry, ToolEnd& tool,
                                                    std::vector<std::byte> message) {
  auto opened = co_await open_runtime(services, entry.runtime->id, std::move(message));
  if (opened) co_return std::move(*opened);
  entry.outcome = opened.error().message();
  services.log->info("{} on {} for {} failed: {}", entry.command, entry.runtime->name, entry.caller,
                     entry.outcome);
  co_await tool.refuse(unreachable(opened.error()));
  co_return nullptr;
}

/// Carries what the runtime answers, and what else the tool says, to the end. `session`: that the answer
/// begins.
Task<void> carry_answer(AgentServices& services, AuditEntry& entry, ToolEnd& tool,
                        std::unique_ptr<transport::FdStream> opened, std::optional<ipc::SessionId> session,
                        RelayCounts& counts) {
  std::optional<TracingSession> tracing;
  if (session) tracing.emplace(services.tracing, entry.runtime, *session);
  std::optional<CompressingStream> compressing;
  if (session && tool.wants_zstd(services.compression)) {
    compressing.emplace(tool.stream(), services.compression);
  }
  tool.accept(compressing.has_value());
  transport::Stream& to_tool = compressing ? *compressing : tool.stream();
  const RelayOutcome outcome = co_await relay(to_tool, *opened, services.buffers, &counts);
  if (tracing && !outcome.runtime_ended) co_await tracing->abandon(*opened);
  entry.outcome = outcome.broken ? "broken off: " + outcome.broken->message() : "completed";
  services.log->debug("{} on {} (pid {}) by {}: {}", entry.command, entry.runtime->name, entry.runtime->pid,
                      entry.caller, entry.outcome);
}

}  // namespace

Task<RuntimePort::Connection> open_runtime(AgentServices& services, std::string runtime_id,
                                           std::vector<std::byte> message) {
  RuntimePort* port = services.registry.port(runtime_id);
  if (port == nullptr) co_return fail("reach", "the runtime " + runtime_id, "it has ended");
  auto runtime = co_await port->open();
  if (!runtime) co_return runtime;
  const IoStatus written = co_await (*runtime)->write(message);
  if (written != IoStatus::ok) co_return tl::unexpected((*runtime)->error());
  const auto header = ipc::decode_header(message);
  if (header) services.suspended.command_sent(runtime_id, port, header->command());
  co_return runtime;
}

Task<void> carry_diagnostic_connection(AgentServices& services, const Caller& caller,
                                       tl::expected<RuntimePtr, Refusal> runtime, ToolEnd& tool) {
  AuditEntry entry{"command", caller};
  if (runtime) entry.runtime = *runtime;
  // Each step in a coroutine of its own: what it needs is gone when the next one begins, and an idle
  // connection holds little.
  const Refusal* const unknown = runtime ? nullptr : &runtime.error();
  std::optional<FirstMessage> first = co_await admit(services, entry, tool, unknown);
  if (!first) co_return;
  const AuditAtEnd audited(services.audit, entry, AuditAtEnd::Clock::now());
  Carried carried{entry, Traffic::Relay(services.metrics.traffic)};
  const std::size_t size = first->bytes.size();
  auto opened = co_await open_for(services, entry, tool, std::move(first->bytes));
  if (opened == nullptr) co_return;
  carried.relay.bytes.to_runtime = size;
  const bool starts_session = ipc::is_collect_tracing(first->command());
  const auto session = co_await until_answered(tool.stream(), *opened, starts_session);
  co_await carry_answer(services, entry, tool, std::move(opened), session, carried.relay.bytes);
}

}  // namespace farport::router
