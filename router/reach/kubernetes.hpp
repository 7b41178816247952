// Pods, reached through the user's own kubectl.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "router/reach/deploy.hpp"
#include "router/reach/reach.hpp"

namespace farport::router {

/// `target`: what stands behind "k8s://". Errors: it is none.
[[nodiscard]] Result<std::shared_ptr<const ReachTarget>> kubernetes_target(std::string text,
                                                                           std::string_view target,
                                                                           Deploy deploy);

}  // namespace farport::router
