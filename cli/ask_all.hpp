// Asking several agents the same, all at once.
#pragma once

#include <string>
#include <vector>

#include "router/mirror/ask_agent.hpp"

namespace farport::cli {

/// What each of the agents answers to a GET, in their order (see router::ask_agent()). An agent that is
/// behind two of them answers for the first alone; nothing may be left for the other then.
transport::Task<std::vector<Result<std::vector<router::AgentAnswer>>>> ask_all(
    transport::Loop& loop, std::vector<router::MirroredAgent> agents, std::string path);

}  // namespace farport::cli
