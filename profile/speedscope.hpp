// speedscope's own format (https://www.speedscope.app/file-format-schema.json).
#pragma once

#include "profile/output.hpp"
#include "profile/profile.hpp"

namespace farport::profile {

/// A sampled profile for each thread, in nanoseconds. Samples that waited end in a frame "[waiting]".
void write_speedscope(const Profile& profile, Output& out);

}  // namespace farport::profile
