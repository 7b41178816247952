// What the API says of the agent itself and of what a caller may do (docs/wire.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "router/diagnostic_connection.hpp"

namespace farport::router {

/// GET /v1/agent: version, uptime, who the caller is, its grants, all roles, limits.
[[nodiscard]] std::string agent_json(const AgentServices& services, const Caller& caller);

/// GET /v1/access: for each command and each of the runtimes (or for none in particular, where there is none)
/// whether the caller may, by which grant, or why not. `command`: only this one; empty: all.
[[nodiscard]] std::string access_json(const Caller& caller, const std::vector<Runtime>& runtimes,
                                      std::string_view command);

/// One line of such an answer.
struct AccessRow {
  std::string command;
  std::string runtime;    ///< The name; empty: any that no grant is about in particular.
  std::uint64_t pid = 0;  ///< The runtime's.
  bool allowed = false;
  std::string rule;
  std::string role;
  std::string why;
};
[[nodiscard]] Result<std::vector<AccessRow>> access_from_json(std::string_view text);

}  // namespace farport::router
