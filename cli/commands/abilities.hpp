// What people want to do with a runtime, in the protocol's commands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "router/wire/runtime.hpp"

namespace farport::cli {

/// The rows of an agent's answer for each command, as rows for what people want to do ("trace", "dump"): it
/// may be done where each command that it needs is allowed; otherwise `why` is that of the first that isn't.
[[nodiscard]] std::vector<router::AccessRow> abilities_of(const std::vector<router::AccessRow>& commands);

}  // namespace farport::cli
