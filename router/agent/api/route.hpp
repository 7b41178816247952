// What a request to the agent's API names: its method, path and query, taken apart.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace farport::router {

/// /v1/runtimes/{id}/{action}?query, /v1/connections/{token}, or another path with an empty id.
struct Route {
  std::string method;
  std::string path;  ///< Without the query, and with {id} or {token} in place of what stands there.
  std::string id;    ///< The runtime's, or the connection's token.
  std::map<std::string, std::string, std::less<>> query;

  /// The value of a query parameter; empty where it isn't there.
  [[nodiscard]] std::string parameter(std::string_view name) const;
};

/// Takes a request target (RFC 9113 section 8.3.1) apart. The values of parameters are percent-decoded.
[[nodiscard]] Route parse_route(std::string_view method, std::string_view target);

}  // namespace farport::router
