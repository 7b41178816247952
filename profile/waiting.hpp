// How forms that know no states show that a sample waited.
#pragma once

#include <string_view>

namespace farport::profile {

/// As if it were a function that had been called last.
inline constexpr std::string_view kWaiting = "[waiting]";

}  // namespace farport::profile
