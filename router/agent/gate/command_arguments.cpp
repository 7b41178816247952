#include "router/agent/gate/command_arguments.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "ipc/payload.hpp"
#include "ipc/event_pipe.hpp"

namespace farport::router {
namespace {

using nlohmann::json;

json of(const ipc::CollectTracing& trace) {
  json providers = json::array();
  // As dotnet-trace's --providers has them.
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

std::string telling_arguments(ipc::Command command, ipc::BytesView payload) {
  const json arguments = arguments_of(command, payload);
  return arguments.is_null() ? std::string() : arguments.dump(-1, ' ', true, json::error_handler_t::replace);
}

}  // namespace farport::router
