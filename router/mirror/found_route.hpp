// The route to an agent that has been found by asking.
#pragma once

#include <memory>
#include <vector>

#include "base/log.hpp"
#include "router/certificates/credential_watch.hpp"
#include "router/mirror/agent_route.hpp"
#include "router/mirror/mirrored_agent.hpp"

namespace farport::router {

/// `reach`, `addresses`: as it has answered (AgentAnswer). `credentials`: the agent's own; not used where a
/// command leads to it.
[[nodiscard]] std::unique_ptr<AgentRoute> found_route(transport::Loop& loop, const Log& log,
                                                      const MirroredAgent& agent,
                                                      const std::shared_ptr<const Reach>& reach,
                                                      const std::vector<transport::Address>& addresses,
                                                      CredentialWatch* credentials);

}  // namespace farport::router
