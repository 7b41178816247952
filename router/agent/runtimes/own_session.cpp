#include "router/agent/runtimes/own_session.hpp"

#include <algorithm>
#include <tuple>

#include "ipc/message.hpp"
#include "router/agent/runtimes/probe.hpp"
#include "router/agent/runtimes/start_watch.hpp"

namespace farport::router {
namespace {

using transport::Task;

Task<DiagnosticPort::Connection> open_port(Registry& registry, std::string runtime_id) {
  DiagnosticPort* const port = registry.port(runtime_id);
  if (port == nullptr) co_return fail("open", runtime_id, "it has ended");
  auto opened = co_await port->open();
  co_return opened;
}

/// All that a runtime says where all its sessions are in use.
const char* hint_for(const Error& refused) {
  return refused.cause == Cause::runtime(ipc::hresult::kFail) ? "perhaps all its 64 sessions are in use" : "";
}

}  // namespace

Task<Result<OwnSession>> begin_own_session(Registry& registry, MemoryGroups& groups, Runtime runtime,
                                           const char* doing, ipc::CollectTracing wanted) {
  co_await until_started(registry, runtime.id, wanted, kLongestStart);
  const auto seen = co_await groups.look(runtime.id);
  const auto room = seen ? groups.left_in(*seen) : std::nullopt;
  if (room) wanted.buffer_size_mb = std::min(wanted.buffer_size_mb, buffer_within(*room));
  auto connection = co_await open_port(registry, runtime.id);
  if (!connection) co_return fail(doing, runtime.name, connection.error().why);
  CO_ASSIGN_OR_RETURN(const auto answer,
                      co_await ask(**connection, ipc::make_message(wanted.version, wanted.encode())));
  const Result<void> outcome = ipc::outcome_of(answer, wanted.version);
  if (!outcome) co_return fail(doing, runtime.name, outcome.error().why, hint_for(outcome.error()));
  CO_ASSIGN_OR_RETURN(const auto id, ipc::SessionId::decode(answer.payload));
  OwnSession session;
  session.stream = std::move(*connection);
  session.id = id;
  co_return session;
}

Task<void> stop_own_session(Registry& registry, std::string runtime_id, ipc::SessionId id) {
  auto connection = co_await open_port(registry, std::move(runtime_id));
  if (!connection) co_return;
  std::ignore = co_await ask(**connection, ipc::make_message(ipc::kStopTracing, id.encode()));
}

}  // namespace farport::router
