// A flame graph as a picture.
#pragma once

#include "profile/output.hpp"
#include "profile/profile.hpp"

namespace farport::profile {

/// All threads as one, the root below. Nothing in it runs: what a box is, and took, is its title, which
/// programs show below the mouse. Boxes too narrow to be seen, and calls deeper than a thousand, are left
/// out.
void write_svg(const Profile& profile, Output& out);

}  // namespace farport::profile
