// Containers of podman and docker, reached through their own commands.
#pragma once

#include <memory>
#include <string>

#include "router/reach/deploy.hpp"
#include "router/reach/reach.hpp"

namespace farport::router {

/// `engine`: "podman" or "docker". `name`: the container's name or id. Errors: it is none.
[[nodiscard]] Result<std::shared_ptr<const Reach>> container_reach(std::string text, std::string engine,
                                                                   std::string name, Deploy deploy);

}  // namespace farport::router
