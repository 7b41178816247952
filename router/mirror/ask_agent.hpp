// Asking the agents behind a name one question.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "router/mirror/agent_session.hpp"

namespace farport::router {

/// An agent as a user names it: where to dial, and the name to verify.
struct AgentAddress {
  std::string host;
  std::uint16_t port = 0;
  std::string server_name;  ///< Empty: the host.

  /// HOST:PORT.
  [[nodiscard]] std::string text() const;
  /// What the agent's certificate must hold.
  [[nodiscard]] const std::string& verified_name() const { return server_name.empty() ? host : server_name; }
};

/// What one agent answers.
struct AgentAnswer {
  std::string address;                        ///< Where it answered.
  std::vector<transport::Address> addresses;  ///< The same, and others where it answered, too.
  std::string body;
};

/// Sends a GET to every agent behind a name: to all its addresses, one session each. An agent answers once,
/// however many addresses it has. Addresses that take no connection while others have answered are left out.
/// Errors: the first address's, if none answers.
transport::Task<Result<std::vector<AgentAnswer>>> ask_agent(transport::Loop& loop, AgentAddress agent,
                                                            SSL_CTX* context, std::string path);

}  // namespace farport::router
