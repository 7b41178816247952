#include "router/diagnostic_connection.hpp"

#include <cerrno>

#include "router/command_arguments.hpp"
#include "router/compressing_stream.hpp"
#include "router/http_status.hpp"
#include "router/relay.hpp"
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
  Task<void> guard = abort_when_gone(tool, runtime);
  guard.start();
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

Task<void> refuse(AgentServices& services, AuditEntry entry, ToolEnd& tool, Refusal refusal) {
  services.log->info("refused {}{}{} to {}: {}", entry.command.empty() ? "a connection" : entry.command,
                     entry.runtime == nullptr ? "" : " on ",
                     entry.runtime == nullptr ? "" : entry.runtime->name, describe(entry.caller),
                     refusal.why);
  entry.outcome = refusal.why;
  services.audit.write(entry);
  co_await tool.refuse(std::move(refusal));
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

Task<void> carry_diagnostic_connection(AgentServices& services, Caller caller,
                                       tl::expected<Runtime, Refusal> runtime, ToolEnd& tool) {
  AuditEntry entry{"command", caller};
  if (!runtime) {
    co_await refuse(services, entry, tool, runtime.error());
    co_return;
  }
  entry.runtime = &*runtime;
  auto first = co_await read_in_time(services, tool.stream());
  if (!first) {
    co_await refuse(services, entry, tool, refusal_of(services, first.error()));
    co_return;
  }
  const auto since = std::chrono::steady_clock::now();
  entry.command = ipc::describe(first->command());
  entry.arguments = telling_arguments(first->command(), first->payload());
  const Ruling ruling = rule_on(caller, *runtime, *first);
  if (!ruling.allowed) {
    services.metrics.commands_refused.add(label_of(first->command()));
    co_await refuse(services, entry, tool, ruling.refusal);
    co_return;
  }
  services.metrics.commands_allowed.add(label_of(first->command()));
  entry.allowed = true;
  entry.rule = ruling.rule;
  entry.role = ruling.role;
  const AuditAtEnd audited(services.audit, entry, since);
  Carried carried{entry, Traffic::Relay(services.metrics.traffic)};
  const std::size_t size = first->bytes.size();
  const bool starts_session = ipc::is_collect_tracing(first->command());
  auto opened = co_await open_runtime(services, runtime->id, std::move(first->bytes));
  if (!opened) {
    entry.outcome = opened.error().message();
    services.log->info("{} on {} for {} failed: {}", entry.command, runtime->name, describe(caller),
                       entry.outcome);
    co_await tool.refuse(unreachable(opened.error()));
    co_return;
  }
  carried.relay.bytes.to_runtime = size;
  const auto session = co_await until_answered(tool.stream(), **opened, starts_session);
  std::optional<TracingSession> tracing;
  if (session) tracing.emplace(services.tracing, *runtime, *session);
  std::optional<CompressingStream> compressing;
  if (session && tool.wants_zstd(services.compression)) {
    compressing.emplace(tool.stream(), services.compression);
  }
  tool.accept(compressing.has_value());
  transport::Stream& to_tool = compressing ? *compressing : tool.stream();
  const RelayOutcome outcome = co_await relay(to_tool, **opened, services.buffers, &carried.relay.bytes);
  if (tracing && !outcome.runtime_ended) co_await tracing->abandon(**opened);
  tracing.reset();
  opened->reset();
  entry.outcome = outcome.broken ? "broken off: " + outcome.broken->message() : "completed";
  services.log->debug("{} on {} (pid {}) by {}: {}", entry.command, runtime->name, runtime->pid,
                      describe(caller), entry.outcome);
}

}  // namespace farport::router
