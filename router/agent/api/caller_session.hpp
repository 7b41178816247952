// The route, session and body of a request to the API.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "router/agent/connections/answer.hpp"
#include "router/agent/gate/limits.hpp"
#include "router/agent/runtimes/registry.hpp"

namespace farport::router {

/// A request's method, path and query. The path is /v1/runtimes/{id}/{action}, /v1/connections/{token}, or
/// another one with an empty id.
struct Route {
  std::string method;
  std::string path;  ///< Without the query, and with {id} or {token} as a placeholder.
  std::string id;    ///< The runtime's or the artifact's id, or the connection's token.
  std::map<std::string, std::string, std::less<>> query;

  /// The value of a query parameter, or an empty string if it is missing.
  [[nodiscard]] std::string parameter(std::string_view name) const;
};

/// Parses a request target (RFC 9113 section 8.3.1). The values of parameters are percent-decoded.
[[nodiscard]] Route parse_route(std::string_view method, std::string_view target);

/// The caller of a session, and what the session uses.
struct CallerSession {
  Caller caller;
  std::unique_ptr<Limits::Session> share;
  std::size_t watches = 0;           ///< Open ones of GET /v1/runtimes?watch=true.
  std::size_t artifact_watches = 0;  ///< Open ones of GET /v1/artifacts?watch=true.
  bool has_followed = false;         ///< Whether there was one.

  /// A filter that passes the runtimes that the caller may see.
  [[nodiscard]] Registry::Filter visible() const {
    return [this](const Runtime& runtime) { return caller.sees(runtime); };
  }
};

/// How a request was handled: nothing if it is answered, otherwise the refusal to send.
using Handled = transport::Task<std::optional<Refusal>>;

}  // namespace farport::router
