#include "router/agent/api/access_json.hpp"

#include <nlohmann/json.hpp>

#include "base/version.hpp"
#include "ipc/commands.hpp"
#include "router/agent/runtimes/discovery.hpp"

namespace farport::router {
namespace {

using nlohmann::json;

std::string text_of(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json object_of(const auth::RuntimeFilter& filter) {
  if (filter.empty()) return "all";
  json object = json::object();
  if (!filter.name.empty()) object["name"] = filter.name;
  if (!filter.command_line.empty()) object["command_line"] = filter.command_line;
  if (!filter.pid.empty()) object["pid"] = filter.pid;
  if (!filter.user.empty()) object["user"] = filter.user;
  return object;
}

json grants_of(const auth::Access& access) {
  json grants = json::array();
  for (const auth::Grant* grant : access.grants()) {
    grants.push_back(
        {{"rule", grant->text}, {"role", grant->role}, {"runtimes", object_of(grant->runtimes)}});
  }
  return grants;
}

json roles_of(const auth::Policy& policy) {
  json roles = json::object();
  for (const auth::Role& role : policy.roles()) roles[role.name] = role.permissions;
  return roles;
}

json row_of(const auth::Access& access, std::string_view command, const Runtime* runtime) {
  const auth::Verdict verdict =
      access.may(command, runtime == nullptr ? auth::RuntimeTraits{} : traits_of(*runtime));
  json row = {{"command", command}, {"allowed", verdict.allowed}};
  if (runtime != nullptr)
    row["runtime"] = {{"id", runtime->id}, {"name", runtime->name}, {"pid", runtime->pid}};
  if (verdict.allowed) {
    row["rule"] = verdict.rule;
    row["role"] = verdict.role;
  } else {
    row["why"] = verdict.why;
  }
  return row;
}

double seconds(transport::Milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

json limits_of(const LimitSettings& limits) {
  return {{"sessions", limits.sessions},
          {"sessions_per_identity", limits.sessions_per_identity},
          {"handshakes", limits.handshakes},
          {"connections_per_session", limits.connections_per_session},
          {"connections_per_identity", limits.connections_per_identity},
          {"requests_per_second", limits.requests_per_second},
          {"head_size", limits.head_bytes},
          {"message_size", limits.message_bytes},
          {"buffered_bytes", limits.buffered_bytes},
          {"handshake_seconds", seconds(limits.handshake)},
          {"first_message_seconds", seconds(limits.first_message)},
          {"idle_seconds", seconds(limits.idle)},
          {"session_lifetime_seconds", seconds(limits.session_lifetime)}};
}

/// Sockets and processes of a host tell of more than a caller's own runtimes.
Disclosure disclosure_for(const auth::Access& access) {
  const bool operates = access.may_everywhere(ipc::name_of(ipc::kGenerateCoreDump3)) ||
                        access.may_everywhere(ipc::name_of(ipc::kProcessEnvironment));
  return operates ? Disclosure::all : Disclosure::counts;
}

}  // namespace

std::string agent_json(const AgentServices& services, const Caller& caller) {
  const auto up = std::chrono::steady_clock::now() - services.started;
  const json answer = {
      {"version", kVersion},
      {"host", services.registry.host()},
      {"uptime_seconds", std::chrono::duration_cast<std::chrono::seconds>(up).count()},
      {"identity", auth::describe(*caller.identity)},
      {"grants", grants_of(*caller.access)},
      {"roles", roles_of(services.policy)},
      {"limits", limits_of(services.limits.settings())},
      {"discovery", json::parse(to_json(services.discovery.findings(), disclosure_for(*caller.access)))}};
  return text_of(answer);
}

std::string access_rows(const Caller& caller, const std::vector<Runtime>& runtimes,
                        std::string_view command) {
  if (runtimes.empty()) return text_of(row_of(*caller.access, command, nullptr));
  std::string rows;
  for (const Runtime& runtime : runtimes) {
    if (!rows.empty()) rows += ',';
    rows += text_of(row_of(*caller.access, command, &runtime));
  }
  return rows;
}

}  // namespace farport::router
