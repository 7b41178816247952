// What each request of the API is handled with: its route, its answer, and the session it came in.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "router/agent/connections/response.hpp"
#include "router/agent/gate/limits.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "transport/share.hpp"

namespace farport::router {

// Bodies of answers that are made when it is the caller's turn.

inline constexpr const char* kJson = "application/json";

/// Appends the next item of a JSON array. Returns whether there was one.
using AppendItem = std::function<bool(std::string& to)>;

/// Answers with a JSON array. Its items are made in the caller's turns, and only as fast as the answer is
/// read: one that nobody reads keeps a few of them, however long the array is. `fields`: more of the answer's
/// head.
transport::Task<void> send_array(Response& response, transport::Share& share, transport::HeaderFields fields,
                                 AppendItem append_item);

/// Answers with what `make` makes, when it is the caller's turn.
transport::Task<void> send_text(Response& response, transport::Share& share, transport::HeaderFields fields,
                                std::string type, std::function<std::string()> make);

// What a request to the agent's API names: its method, path and query, taken apart.

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
