// Finding the agents behind what a person has named, by asking each of them the same.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "router/mirror/agent_client.hpp"

namespace farport::router {

/// An agent, and what it has answered.
struct FoundAgent {
  std::unique_ptr<AgentClient> client;
  std::string answer;
};

using FoundAgents = std::vector<FoundAgent>;

/// Sends a GET to every agent behind a name, all at once: at each of its addresses, or by each command that
/// leads to one. An agent is there once, however many addresses it has. Addresses that give no session while
/// another has answered are left out. Errors: the first place's, if none answers.
[[nodiscard]] transport::Task<Result<FoundAgents>> find_agents(transport::Loop& loop, MirroredAgent agent,
                                                               ClientOptions options, std::string path);

/// The same of several names at once, in their order. An agent that is behind two of them is in the first
/// one's alone; nothing may be left for the other then.
[[nodiscard]] transport::Task<std::vector<Result<FoundAgents>>> find_all_agents(
    transport::Loop& loop, std::vector<MirroredAgent> agents, ClientOptions options, std::string path);

/// Ends their sessions in good order, all at once.
transport::Task<void> leave_agents(transport::Loop& loop, FoundAgents agents);
transport::Task<void> leave_all(transport::Loop& loop, std::vector<Result<FoundAgents>> agents);

}  // namespace farport::router
