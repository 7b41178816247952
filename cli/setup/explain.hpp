// Explaining why an agent lists nothing or not the wanted runtime, from its own report.
#pragma once

#include <string>
#include <vector>

#include "router/mirror/find_agents.hpp"
#include "router/mirror/mirror.hpp"

namespace farport::cli {

enum class Missing : std::uint8_t {
  everything,  ///< The agent lists no runtime.
  something,   ///< It lists some, and none of them is wanted.
};

/// The user's name for the agent.
[[nodiscard]] std::string asked_name(const router::MirroredAgent& agent);

/// Asks an agent what it has searched and what it has found but can't use. Returns lines to print: one for
/// the agent, and hints below it. For Missing::something there are none if the agent reports nothing. An
/// agent that does not answer is left out. `name`: from asked_name().
[[nodiscard]] transport::Task<std::vector<std::string>> explain_search(router::AgentClient& agent,
                                                                       std::string name, Missing missing);

/// The same for all agents of a mirror at once, in their existing sessions and for a few seconds. Agents that
/// don't answer are left out, since that was reported before. So are those with a selection of runtimes,
/// unless `of_selections`, since the link reports what the selection excludes.
[[nodiscard]] transport::Task<std::vector<std::string>> explain_mirror(router::Mirror& mirror,
                                                                       Missing missing, bool of_selections);

}  // namespace farport::cli
