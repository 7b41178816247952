// A flame graph as a page that needs nothing else: profile/page/ is what it looks like.
#pragma once

#include "profile/output.hpp"
#include "profile/profile.hpp"

namespace farport::profile {

/// The page with the profile in it as JSON, which its script draws. Members, beside numbers and names of what
/// is profiled:
/// - kinds, modules: names; names, frameModules, frameKinds: of each frame, the last two places in the first;
/// - frames, back: of each call but the root, its frame, and how far before it its caller is;
/// - counts: call, place in threads, 1 or 0 for waiting, samples; and so on.
void write_html(const Profile& profile, Output& out);

}  // namespace farport::profile
