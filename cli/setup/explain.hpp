// Why an agent lists nothing, or not what is wanted, as it says itself.
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

/// What its user calls it.
[[nodiscard]] std::string asked_name(const router::MirroredAgent& agent);

/// Asks an agent what it has searched, and what it has found and cannot use, and returns what to print: a
/// line for the agent, and what to do below it. Where something is missing that is nothing if it says
/// nothing. An agent that does not answer is left out. `name`: asked_name().
[[nodiscard]] transport::Task<std::vector<std::string>> explain_search(router::AgentClient& agent,
                                                                       std::string name, Missing missing);

/// Asks the agents of a mirror so, all at once, in the sessions that there are, for a few seconds. Those that
/// don't answer are left out: that has been said by then. So are those of which only some runtimes are
/// mirrored, unless it is `of_selections`: the link says what that leaves out.
[[nodiscard]] transport::Task<std::vector<std::string>> explain_mirror(router::Mirror& mirror,
                                                                       Missing missing, bool of_selections);

}  // namespace farport::cli
