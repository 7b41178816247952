// What the address for health and metrics answers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "router/agent/admin/http1_connection.hpp"

namespace farport::router {

/// What the agent says of itself there.
struct AdminSources {
  /// Why it should get no work; none if it is ready. A sentence each.
  std::function<std::vector<std::string>()> why_not_ready;
  std::function<std::string()> metrics;  ///< In Prometheus' text format.
};

/// GET or HEAD of /healthz, /readyz and /metrics.
[[nodiscard]] Http1Answer answer_admin(const AdminSources& sources, const Http1Request& request);

}  // namespace farport::router
