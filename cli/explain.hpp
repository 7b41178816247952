// Why an agent lists nothing, or not what is wanted, as it says itself.
#pragma once

#include <string>
#include <vector>

#include "router/mirror/find_agents.hpp"

namespace farport::cli {

enum class Missing : std::uint8_t {
  everything,  ///< The agent lists no runtime.
  something,   ///< It lists some, and none of them is wanted.
};

/// What its user calls it.
[[nodiscard]] std::string asked_name(const router::MirroredAgent& agent);

/// Asks an agent what it has searched, and what it has found and cannot use, and returns what to print: a
/// line for the agent, and what to do below it. Where something is missing that is nothing if it says
/// nothing. An agent that does not answer is left out. `name`: asked_name().
[[nodiscard]] transport::Task<std::vector<std::string>> explain_search(router::AgentClient& agent,
                                                                       std::string name, Missing missing);

/// Finds agents and asks each of them so, all at once. Those that don't answer are left out: that has been
/// said by then.
[[nodiscard]] transport::Task<std::vector<std::string>> explain_agents(
    transport::Loop& loop, std::vector<router::MirroredAgent> agents, Missing missing);

/// The same where all is missing, of those that have answered within a few seconds. What a selection leaves
/// out is not explained: the link says it.
[[nodiscard]] transport::Task<std::vector<std::string>> explain_empty(
    transport::Loop& loop, std::vector<router::MirroredAgent> agents);

}  // namespace farport::cli
