// What the API says of what a caller may do (docs/wire.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "router/agent/gate/caller.hpp"
#include "router/agent/runtimes/registry.hpp"

namespace farport::router {

/// The rows of GET /v1/access, one after the other: for each command, and each of the runtimes that the
/// caller sees (or for none in particular, where there is none) whether the caller may, by which grant, or
/// why not.
class AccessRows {
 public:
  /// `registry`, `caller`: must outlive this. `commands`: of auth::all_permissions().
  AccessRows(Registry& registry, const Caller& caller, std::vector<std::string_view> commands)
      : registry_(&registry), caller_(&caller), commands_(std::move(commands)) {}

  /// Appends the next row, a JSON object. Returns whether there was one.
  bool append_next(std::string& to);

 private:
  Registry* registry_;
  const Caller* caller_;
  std::vector<std::string_view> commands_;
  std::size_t command_ = 0;
  std::string last_id_;  ///< Of the runtime whose row came last, for this command; empty: none has.
};

}  // namespace farport::router
