// What a profile is of, in a line.
#pragma once

#include <string>

#include "profile/profile.hpp"

namespace farport::profile {

/// "Orders (pid 4711): 2970 samples in 30.0 s, one each 10.1 ms of processor time; 3 lost", escaped.
[[nodiscard]] std::string summary_of(const Profile& profile);

/// "10.1 ms": in the unit that suits it.
[[nodiscard]] std::string duration_text(std::chrono::nanoseconds duration);

}  // namespace farport::profile
