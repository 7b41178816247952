// Asking the agents behind a name one question.
#pragma once

#include <string>
#include <vector>

#include "router/mirror/mirrored_agent.hpp"
#include "transport/address.hpp"

namespace farport::router {

/// What one agent answers.
struct AgentAnswer {
  std::string address;                          ///< Where it answered.
  std::vector<transport::Address> addresses{};  ///< The same, and others where it answered, too.
  std::string body;
  std::string agent{};                   ///< Which one it is: see AgentSession::agent().
  std::shared_ptr<const Reach> reach{};  ///< The way there, where a command leads to it.
};

/// Sends a GET to every agent behind a name: to all its addresses, one session each. An agent answers once,
/// however many addresses it has. Where commands reach the agents: to each of those. Addresses that take no
/// connection while others have answered are left out. Errors: the first address's, if none answers.
transport::Task<Result<std::vector<AgentAnswer>>> ask_agent(transport::Loop& loop, MirroredAgent agent,
                                                            std::string path);

}  // namespace farport::router
