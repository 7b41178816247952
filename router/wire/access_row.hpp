// What a caller may do, as the agent tells it: GET /v1/access from the side that asks (docs/wire.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace farport::router {

/// One line of such an answer.
struct AccessRow {
  std::string command;
  std::string runtime;    ///< The name; empty: any that no grant is about in particular.
  std::uint64_t pid = 0;  ///< The runtime's.
  bool allowed = false;
  std::string rule;
  std::string role;
  std::string why;
};
[[nodiscard]] Result<std::vector<AccessRow>> access_from_json(std::string_view text);

}  // namespace farport::router
