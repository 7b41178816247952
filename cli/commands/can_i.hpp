// Abilities: what people want to do with a runtime, in terms of the protocol's commands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "router/wire/runtime.hpp"

namespace farport::cli {

/// Converts an agent's rows for single commands to rows for tasks such as "trace" and "dump". A task is
/// allowed if all commands that it needs are; otherwise `why` is that of the first command that is refused.
[[nodiscard]] std::vector<router::AccessRow> abilities_of(const std::vector<router::AccessRow>& commands);

}  // namespace farport::cli
