// What the API says of what a caller may do (docs/wire.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "router/agent/gate/caller.hpp"

namespace farport::router {

/// GET /v1/access, the part about one command: for each of the runtimes (or for none in particular, where
/// there is none) whether the caller may, by which grant, or why not. JSON objects with commas between them.
[[nodiscard]] std::string access_rows(const Caller& caller, const std::vector<Runtime>& runtimes,
                                      std::string_view command);

}  // namespace farport::router
