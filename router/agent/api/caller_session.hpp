// What each request of the API is handled with: its route, its answer, and the session it came in.
#pragma once

#include <memory>

#include "router/agent/api/route.hpp"
#include "router/agent/connections/response.hpp"
#include "router/agent/gate/limits.hpp"
#include "router/agent/runtimes/registry.hpp"

namespace farport::router {

struct CallerSession {
  Caller caller;
  std::unique_ptr<Limits::Session> share;
  std::size_t watches = 0;  ///< That are open.

  /// The runtimes that are there for the caller.
  [[nodiscard]] Registry::Filter visible() const {
    return [this](const Runtime& runtime) { return caller.sees(runtime); };
  }
};

/// How a request has been handled: it is answered, or it is to be refused with this.
using Handled = transport::Task<std::optional<Refusal>>;

}  // namespace farport::router
