// Reaching pods through the user's own kubectl.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "router/reach/deploy.hpp"
#include "router/reach/reach.hpp"

namespace farport::router {

/// `target`: the text after "k8s://". Fails if it is malformed.
[[nodiscard]] Result<std::shared_ptr<const ReachTarget>> kubernetes_target(std::string text,
                                                                           std::string_view target,
                                                                           Deploy deploy);

}  // namespace farport::router
